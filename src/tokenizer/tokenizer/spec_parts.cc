#include "tokenizer/spec_parts.h"

#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kMostSettings = std::size_t{16} << 20U;
constexpr int kDeepestSettings = 64;

Json token_of_template(const NamedToken& token) {
  return {{"SpecialToken", {{"id", token.text}, {"type_id", 0}}}};
}

Json token_and_id(const NamedToken& token) {
  Json pair = Json::array();
  pair.push_back(token.text);
  pair.push_back(token.id);
  return pair;
}

}  // namespace

Json added_token(std::string_view content, std::uint32_t id, bool special) {
  return {{"id", id},          {"content", content}, {"single_word", false},
          {"lstrip", false},   {"rstrip", false},    {"normalized", false},
          {"special", special}};
}

Json template_processing(const std::optional<NamedToken>& first,
                         const std::optional<NamedToken>& last) {
  if (!first && !last) {
    return nullptr;
  }
  Json single = Json::array();
  Json pair = Json::array();
  Json tokens = Json::object();
  const auto add = [&](const NamedToken& token) {
    pair.push_back(token_of_template(token));
    Json ids = Json::array();
    ids.push_back(token.id);
    Json texts = Json::array();
    texts.push_back(token.text);
    tokens[token.text] = {{"id", token.text}, {"ids", ids}, {"tokens", texts}};
  };
  for (const int sequence : {0, 1}) {
    if (first) {
      add(*first);
    }
    pair.push_back(
        {{"Sequence",
          {{"id", sequence == 0 ? "A" : "B"}, {"type_id", sequence}}}});
    if (last) {
      add(*last);
    }
    single = sequence == 0 ? pair : single;
  }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

Json roberta_processing(const NamedToken& cls, const NamedToken& sep,
                        bool trim_offsets) {
  return {{"type", "RobertaProcessing"},
          {"sep", token_and_id(sep)},
          {"cls", token_and_id(cls)},
          {"trim_offsets", trim_offsets},
          {"add_prefix_space", false}};
}

Json byte_level_split(std::string_view pattern) {
  Json steps = Json::array();
  steps.push_back({{"type", "Split"},
                   {"pattern", {{"Regex", pattern}}},
                   {"behavior", "Isolated"},
                   {"invert", false}});
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
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
