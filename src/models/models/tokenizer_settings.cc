#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "interop/folder.h"
#include "interop/json_fields.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// More means no limit: files without one have 1000000000000000019884624838656.
constexpr std::size_t kMostTokensOfSettings = (std::size_t{1} << 31) - 1;

constexpr auto kTokenizerKeys = std::to_array<std::string_view>(
    {"tokenizer_class", "do_lower_case", "strip_accents",
     "tokenize_chinese_chars", "model_max_length"});

// [CLS] and [SEP] must have room.
Status get_limit(const JsonFields& fields, std::string_view key,
                 TokenizerSettings& into) {
  double limit = 2;
  HEADWISE_TRY(fields.get(key, limit));
  if (!(limit >= 2) || limit != std::floor(limit)) {
    return fields.unexpected(key, "a whole number of at least 2");
  }
  if (fields.has(key)) {
    into.max_tokens = static_cast<std::size_t>(
        std::min(limit, static_cast<double>(kMostTokensOfSettings)));
    into.max_tokens_key = key;
  }
  return ok();
}

Status take_class(const JsonFields& fields, bool& generic) {
  constexpr std::string_view kKey = "tokenizer_class";
  std::string name;
  HEADWISE_TRY(fields.get(kKey, name));
  generic = name == "PreTrainedTokenizerFast" || name == "TokenizersBackend";
  std::string_view known = name;
  if (known.ends_with("Fast")) {
    known.remove_suffix(4);
  }
  if (!fields.has(kKey) || generic || known == "BertTokenizer" ||
      known == "DistilBertTokenizer") {
    return ok();
  }
  return fields.unexpected(kKey, "BertTokenizer or DistilBertTokenizer",
                           ErrorCode::unsupported);
}

// A class without settings of its own leaves all to tokenizer.json.
Status get_normalization(const JsonFields& fields, bool generic_class,
                         BertNormalization& into) {
  BertNormalization read;
  const std::pair<std::string_view, std::optional<bool>*> flags[] = {
      {"do_lower_case", &read.do_lower_case},
      {"strip_accents", &read.strip_accents},
      {"tokenize_chinese_chars", &read.tokenize_chinese_chars}};
  for (const auto& [key, set] : flags) {
    bool flag = false;
    HEADWISE_TRY(fields.get(key, flag));
    if (fields.has(key)) {
      *set = flag;
    }
  }
  into = generic_class ? BertNormalization{} : read;
  return ok();
}

}  // namespace

Result<std::string> vocabulary_path(const std::string& folder) {
  constexpr std::string_view kReader = "read_tokenizer";
  std::string plain = folder + "/vocab.txt";
  std::string with_tokenizer = folder + "/tokenizer.json";
  HEADWISE_ASSIGN(const auto is_plain, is_regular_file(kReader, plain));
  HEADWISE_ASSIGN(const auto has_tokenizer,
                  is_regular_file(kReader, with_tokenizer));
  return !is_plain && has_tokenizer ? with_tokenizer : plain;
}

Result<TokenizerSettings> parse_tokenizer_config(std::string_view text,
                                                 const FileSubject& subject,
                                                 TokenizerSettings settings) {
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kTokenizerKeys));
  HEADWISE_TRY(take_class(fields, settings.generic_class));
  HEADWISE_TRY(get_normalization(fields, settings.generic_class,
                                 settings.normalization));
  HEADWISE_TRY(get_limit(fields, "model_max_length", settings));
  return settings;
}

Result<TokenizerSettings> parse_any_tokenizer_config(std::string_view text,
                                                     const FileSubject& subject,
                                                     bool has_tokenizer_json) {
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kTokenizerKeys));
  TokenizerSettings settings;
  HEADWISE_TRY(
      get_normalization(fields, has_tokenizer_json, settings.normalization));
  HEADWISE_TRY(get_limit(fields, "model_max_length", settings));
  return settings;
}

Result<TokenizerSettings> parse_sentence_config(std::string_view text,
                                                const FileSubject& subject,
                                                TokenizerSettings tokenizer) {
  constexpr auto kTokenizerKeys =
      std::to_array<std::string_view>({"max_seq_length", "do_lower_case"});
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kTokenizerKeys));
  HEADWISE_TRY(check_transformer(text, subject));
  HEADWISE_TRY(get_limit(fields, "max_seq_length", tokenizer));
  HEADWISE_TRY(
      fields.get("do_lower_case", tokenizer.normalization.lower_first));
  return tokenizer;
}

}  // namespace headwise::inline HEADWISE_ABI
