#include "tokenizer/spec_parts.h"

#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kMostSettings = std::size_t{16} << 20U;
constexpr int kDeepestSettings = 64;

}  // namespace

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

Json added_token(std::string_view content, std::uint32_t id, bool special) {
  return {{"id", id},          {"content", content}, {"single_word", false},
          {"lstrip", false},   {"rstrip", false},    {"normalized", false},
          {"special", special}};
}

Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last) {
  Json json = json_of(
      R"({"type": "TemplateProcessing", "pair": [], "special_tokens": {}})");
  const auto add = [&](const std::optional<NamedToken>& token, int sequence) {
    if (token) {
      const auto& [text, id] = *token;
      json["pair"].push_back(
          {{"SpecialToken", {{"id", text}, {"type_id", sequence}}}});
      json["special_tokens"][text] = {
          {"id", text}, {"ids", {id}}, {"tokens", {text}}};
    }
  };
  for (const int sequence : {0, 1}) {
    const std::string_view name = sequence == 0 ? "A" : "B";
    add(first, sequence);
    json["pair"].push_back(
        {{"Sequence", {{"id", name}, {"type_id", sequence}}}});
    add(last, sequence);
    if (sequence == 0) {
      json["single"] = json["pair"];
    }
  }
  return first || last ? json : nullptr;
}

Json byte_level_json(const WordSplit& split, bool ignores_merges) {
  Json json = json_of(R"({"version": "1.0",
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": []},
      "decoder": {"type": "ByteLevel", "add_prefix_space": true,
                  "trim_offsets": true, "use_regex": true},
      "model": {"type": "BPE"}})");
  Json& steps = json["pre_tokenizer"]["pretokenizers"];
  for (const std::string_view pattern : split.patterns) {
    if (!pattern.empty()) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
  }
  steps.push_back(json_of(R"({"type": "ByteLevel", "add_prefix_space": false,
                              "trim_offsets": true, "use_regex": false})"));
  json["model"]["ignore_merges"] = ignores_merges;
  if (split.composes) {
    json["normalizer"] = {{"type", "NFC"}};
  }
  return json;
}

TokenIds token_ids(const TokenizerSpec& spec) {
  return {spec.vocabulary.begin(), spec.vocabulary.end()};
}

void set_processing_ids(const TokenIds& ids, Json& processing) {
  for (const std::string_view key : {"sep", "cls"}) {
    std::string text;
    if (!processing[key][0].get(text) || !ids.contains(text)) {
      processing = nullptr;
      return;
    }
    processing[key][1] = ids.at(text);
  }
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

FileSubject subject_of_line(const FileSubject& file, std::size_t number) {
  return file.of_entry(message("line {}", number).text());
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
  const std::string_view text = text_of(bytes);
  HEADWISE_TRY(check_utf8(read.subject, text));
  auto json = Json::parse(text, kMostSettings, kDeepestSettings);
  if (!json || !json->is_object()) {
    return read.subject.bad_data("is not a JSON object");
  }
  read.json = *std::move(json);
  return read;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
