// BERT's vocab.txt.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/text_lines.h"
#include "tokenizer/vocabulary_files.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Status check_token(std::string_view token, const FileSubject& about) {
  if (token.empty()) {
    return about.bad_data("is empty");
  }
  return token.size() <= kMostTokenBytes
             ? ok()
             : Status(about.bad_data(message("has {} bytes", token.size()),
                                     message("at most {}", kMostTokenBytes)));
}

Status set_bert_normalizer(const JsonPart& settings, Json& normalizer) {
  struct Setting {
    std::string_view key;
    std::string_view part;
  };
  for (const auto& [key, part] :
       {Setting{"do_lower_case", "lowercase"},
        Setting{"tokenize_chinese_chars", "handle_chinese_chars"},
        Setting{"strip_accents", "strip_accents"}}) {
    bool value = false;
    HEADWISE_TRY(settings.get(key, value));
    if (settings.at(key).exists()) {
      normalizer[part] = value;
    }
  }
  return ok();
}

Status set_bert_tokens(const FileSubject& subject, TokenizerSpec& spec) {
  const TokenIds ids(spec);
  std::map<std::string_view, NamedToken> special;
  Json added = Json::array();
  for (const std::string_view text :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    const auto token = ids.find(text);
    if (token) {
      special[text] = *token;
      added.push_back(added_token(text, token->id, /*special=*/true));
    } else if (text != "[MASK]") {
      return subject.bad_data(message("has no token {}", text));
    }
  }
  spec.json["added_tokens"] = std::move(added);
  spec.json["post_processor"] =
      cls_sep_processing("BertProcessing", special["[CLS]"], special["[SEP]"]);
  return ok();
}

}  // namespace

Result<TokenizerSpec> parse_vocab_txt(std::string_view text,
                                      const std::string& path) {
  constexpr auto kClasses = std::to_array<std::string_view>(
      {"", "BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
  TokenizerSpec spec{.subject = {std::string(kReadTokenizer), path}};
  HEADWISE_TRY(check_utf8(spec.subject, text));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::unordered_set<std::string_view> tokens;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const auto id = static_cast<std::uint32_t>(tokens.size());
    const FileSubject about =
        subject_of_line(spec.subject, id + std::size_t{1});
    HEADWISE_TRY(check_token(line, about));
    if (!tokens.insert(line).second) {
      return about.bad_data(message("is \"{}\" again", printable(line)));
    }
    spec.vocabulary.emplace_back(line, id);
  }
  HEADWISE_ASSIGN(const auto file,
                  read_settings(path, "tokenizer_config.json"));
  const JsonPart settings = file.part();
  HEADWISE_ASSIGN(const auto name, tokenizer_class(settings));
  if (std::ranges::find(kClasses, name) == kClasses.end()) {
    return settings.unexpected("tokenizer_class",
                               "BertTokenizer, DistilBertTokenizer or "
                               "ElectraTokenizer",
                               ErrorCode::unsupported);
  }
  spec.json = wordpiece_json("[UNK]");
  HEADWISE_TRY(set_bert_normalizer(settings, spec.json["normalizer"]));
  HEADWISE_TRY(set_bert_tokens(spec.subject, spec));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
