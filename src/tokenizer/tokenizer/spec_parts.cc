#include "headwise/interop/token_text.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kMostSettings = std::size_t{16} << 20U;
constexpr int kDeepestSettings = 64;

}  // namespace

TokenIds token_ids(const TokenizerSpec& spec) {
  return {spec.vocabulary.begin(), spec.vocabulary.end()};
}

Message token_fault(std::string_view text,
                    std::unordered_set<std::string_view>& others) {
  return text.empty()                    ? Message("is empty")
         : text.size() > kMostTokenBytes ? message("has {} bytes, more than {}",
                                                   text.size(), kMostTokenBytes)
         : others.insert(text).second
             ? Message()
             : message("is \"{}\" again", printable(text));
}

Json json_of(std::string_view text) {
  return *Json::parse(text, kMostSettings, kDeepestSettings);
}

Json added_token(std::string_view content, const Json& id, bool special) {
  return {{"id", id},          {"content", content}, {"single_word", false},
          {"lstrip", false},   {"rstrip", false},    {"normalized", false},
          {"special", special}};
}

Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last) {
  if (!first && !last) {
    return nullptr;
  }
  Json json = {{"type", "TemplateProcessing"}};
  Json pieces = Json::array();
  const auto add = [&](std::string_view kind, std::string_view id, int type) {
    pieces.push_back({{kind, {{"id", id}, {"type_id", type}}}});
  };
  const auto add_token = [&](const std::optional<NamedToken>& token, int type) {
    if (token) {
      const auto& [text, id] = *token;
      add("SpecialToken", text, type);
      json["special_tokens"][text] = {
          {"id", text}, {"ids", {id}}, {"tokens", {text}}};
    }
  };
  for (const int sequence : {0, 1}) {
    add_token(first, sequence);
    add("Sequence", sequence == 0 ? "A" : "B", sequence);
    add_token(last, sequence);
    json[sequence == 0 ? "single" : "pair"] = pieces;
  }
  return json;
}

Json byte_level_json(const WordSplit& split, bool ignores_merges) {
  Json json = json_of(kByteLevelJson);
  Json steps = Json::array();
  for (const std::string_view pattern : split.patterns) {
    if (!pattern.empty()) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
  }
  Json& listed = json["pre_tokenizer"]["pretokenizers"];
  steps.push_back(listed[0]);
  listed = std::move(steps);
  json["model"]["ignore_merges"] = ignores_merges;
  if (split.composes) {
    json["normalizer"] = {{"type", "NFC"}};
  }
  return json;
}

bool add_merge(std::string_view text, TokenizerSpec& spec) {
  const std::size_t space = text.find(' ');
  if (text.starts_with("#version")) {
    return true;
  }
  if (space == std::string_view::npos ||
      text.find(' ', space + 1) != std::string_view::npos) {
    return false;
  }
  spec.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  return true;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

Result<SettingsFile> read_settings(const std::string& path,
                                   std::string_view name) {
  const std::string settings = folder_of(path) + std::string(name);
  SettingsFile read{{}, {std::string(kReadTokenizer), settings}};
  HEADWISE_ASSIGN(auto file,
                  InputFile::open_if_there(kReadTokenizer, settings));
  if (!file) {
    return read;
  }
  HEADWISE_ASSIGN(const auto bytes, read_at_most(*file, kMostSettings));
  HEADWISE_TRY(check_utf8(read.subject, text_of(bytes)));
  auto json = Json::parse(text_of(bytes), kMostSettings, kDeepestSettings);
  if (!json || !json->is_object()) {
    return read.subject.bad_data("is not a JSON object");
  }
  read.json = *std::move(json);
  return read;
}

Status each_line(std::string_view text, const FileSubject& subject,
                 FunctionRef<bool(std::string_view)> take, Message expected) {
  const auto lines = text_lines(text);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    if (!lines[n].empty() && !take(lines[n])) {
      return subject.of_entry(message("line {}", n + 1).text())
          .bad_data(message("is \"{}\"", printable(lines[n])),
                    std::move(expected));
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
