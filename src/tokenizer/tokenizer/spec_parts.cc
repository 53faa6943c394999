#include "tokenizer/spec_parts.h"

#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kMostSettings = std::size_t{16} << 20U;
constexpr int kDeepestSettings = 64;

Json token_of_template(const NamedToken& token, int sequence) {
  return {{"SpecialToken", {{"id", token.text}, {"type_id", sequence}}}};
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
  const auto add = [&](const NamedToken& token, int sequence) {
    pair.push_back(token_of_template(token, sequence));
    Json ids = Json::array();
    ids.push_back(token.id);
    Json texts = Json::array();
    texts.push_back(token.text);
    tokens[token.text] = {{"id", token.text}, {"ids", ids}, {"tokens", texts}};
  };
  for (const int sequence : {0, 1}) {
    if (first) {
      add(*first, sequence);
    }
    pair.push_back(
        {{"Sequence",
          {{"id", sequence == 0 ? "A" : "B"}, {"type_id", sequence}}}});
    if (last) {
      add(*last, sequence);
    }
    single = sequence == 0 ? pair : single;
  }
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

Json cls_sep_processing(std::string_view type, const NamedToken& cls,
                        const NamedToken& sep) {
  return {
      {"type", type}, {"sep", token_and_id(sep)}, {"cls", token_and_id(cls)}};
}

Json wordpiece_json(std::string_view unknown) {
  return {
      {"version", "1.0"},
      {"normalizer",
       {{"type", "BertNormalizer"},
        {"clean_text", true},
        {"handle_chinese_chars", true},
        {"strip_accents", nullptr},
        {"lowercase", true}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", unknown},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100}}}};
}

Json byte_level_split(std::span<const std::string_view> patterns) {
  Json steps = Json::array();
  for (const std::string_view pattern : patterns) {
    if (!pattern.empty()) {
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    }
  }
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json byte_level_decoding() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", true},
          {"trim_offsets", true},
          {"use_regex", true}};
}

Result<std::string> tokenizer_class(const JsonPart& settings) {
  std::string name;
  HEADWISE_TRY(settings.get("tokenizer_class", name));
  if (name == "PreTrainedTokenizerFast" || name == "TokenizersBackend") {
    return std::string();
  }
  if (name.ends_with("Fast")) {
    name.resize(name.size() - 4);
  }
  return name;
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
