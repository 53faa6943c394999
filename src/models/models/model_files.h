// The files of a model's folder one by one. Errors are about `subject`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/models/model_settings.h"
#include "interop/json_fields.h"

namespace headwise::inline HEADWISE_ABI {

// modules.json. The folders are names in the model's.
struct SentenceModules {
  std::string transformer_folder;  // empty: the model's own
  std::string pooling_folder;
  std::vector<std::string> dense_folders{};
  std::optional<std::string> normalize_folder;  // nothing: no Normalize
};
Result<SentenceModules> parse_sentence_modules(std::string_view text,
                                               const FileSubject& subject);

// config.json of the pooling's folder, for vectors of `hidden_size` numbers.
struct PoolingSettings {
  std::vector<Pooling> pooling{};
  bool includes_prompt = true;
};
Result<PoolingSettings> parse_pooling(std::string_view text,
                                      const FileSubject& subject,
                                      std::size_t hidden_size);

// config.json of a Dense module; `folder` is left empty.
Result<DenseSettings> parse_dense(std::string_view text,
                                  const FileSubject& subject);

// Where a folder has its vocabulary: vocab.txt, or tokenizer.json if there is
// only that.
Result<std::string> vocabulary_path(const std::string& folder);

// tokenizer_config.json
struct TokenizerSettings {
  BertNormalization normalization;
  std::optional<std::size_t> max_tokens;
  std::string_view max_tokens_key;  // that says max_tokens
  // A class without settings of its own: all of them are in tokenizer.json.
  bool generic_class = false;
};
// `settings` is what a key that is not there leaves.
Result<TokenizerSettings> parse_tokenizer_config(
    std::string_view text, const FileSubject& subject,
    TokenizerSettings settings = {});

// The same of other families than BERT's, of any class. What it says of the
// normalisation counts only without tokenizer.json, which has all of it.
Result<TokenizerSettings> parse_any_tokenizer_config(std::string_view text,
                                                     const FileSubject& subject,
                                                     bool has_tokenizer_json);

// sentence_bert_config.json, and then what it makes of the tokenizer's.
Result<TokenizerSettings> parse_sentence_config(std::string_view text,
                                                const FileSubject& subject,
                                                TokenizerSettings tokenizer);

// What else sentence_bert_config.json and the config.json of Normalize say must
// be what is computed.
Status check_transformer(std::string_view text, const FileSubject& subject);
Status check_normalize(std::string_view text, const FileSubject& subject);

// config_sentence_transformers.json
struct SentenceSettings {
  std::optional<std::size_t> truncate_dim{};
  std::map<std::string, std::string> prompts{};
  std::string default_prompt{};
};
Result<SentenceSettings> parse_sentence_transformers(
    std::string_view text, const FileSubject& subject);

// Tokens that tokenizer.json, tokenizer_config.json or special_tokens_map.json
// adds to the vocabulary, or uses in place of a special token, are unsupported.
Status check_listed_tokens(std::string_view text, const FileSubject& subject);
// The same of the keys of added_tokens.json.
Status check_added_tokens(std::string_view text, const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI
