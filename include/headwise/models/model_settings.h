// The settings in a model's folder: everything but its parameters.
// The files are those that transformers and sentence-transformers write:
//
//   config.json                the family and the sizes; must be there
//   tokenizer_config.json      how the tokenizer normalises a sentence
//   tokenizer.json             the same; read if there is no vocab.txt (keys of
//                              tokenizer_config.json take precedence), or if
//                              tokenizer_class is PreTrainedTokenizerFast or
//                              TokenizersBackend (then it alone counts)
//   added_tokens.json, special_tokens_map.json   only to check that no tokens
//                                                are added
//   modules.json               what follows the encoder: Transformer, Pooling
//                              and perhaps Normalize
//   1_Pooling/config.json      the pooling, in the folder modules.json names
//   sentence_bert_config.json  the longest sentence (sentence_distilbert_...
//                              in some older models)
//   2_Normalize/config.json    only to check that it is the embedding that is
//                              normalised
//   config_sentence_transformers.json   truncate_dim, prompts and
//                                       default_prompt_name
//
// A missing file leaves the defaults below; an unknown key is ignored. A folder
// that modules.json names must be directly in the model's folder, without a
// path; files may be symbolic links, as in caches.
//
// Errors: io_error; invalid_argument for a path with a NUL character; bad_data,
// with the file, the key, what was given and what was expected: for text that
// is not JSON, has a key twice, is nested more than 16 deep or has more than
// kLargestSettings bytes, for missing keys, wrong types, and sizes that are out
// of range or do not fit together; unsupported for well-formed settings of a
// model that headwise does not compute: another family, activation or position
// embedding, other modules, activations of Dense, poolings or tokenizers, added
// tokens, arguments of the tokenizer in sentence_bert_config.json
// (processing_kwargs):
//   read_model_settings: model/1_Pooling/config.json has "attention" in
//   pooling_mode, expected cls, max, mean, mean_sqrt_len_tokens, weightedmean
//   or lasttoken
//
// Example:
//   ModelSettings settings = read_model_settings("model").value();
//   settings.shape.num_heads;   // 12
//   settings.max_tokens;         // 256
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/tokenizer/tokenizer.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kLargestSettings = std::size_t{1} << 24;

// How the vectors of a sentence's tokens, including [CLS] and [SEP], become the
// vector of the sentence: their mean, the first one, the maximum of each
// feature, their sum divided by the square root of their number, their mean
// weighted by 1, 2, 3 and so on, or the last one.
enum class Pooling { mean, cls, max, mean_sqrt_len, weighted_mean, last_token };

// A module that follows the pooling: activation(W x + b).
enum class DenseActivation { identity, tanh };
struct DenseSettings {
  std::string folder;  // of its model.safetensors
  std::size_t in_features = 0;
  std::size_t out_features = 0;
  bool bias = true;
  DenseActivation activation = DenseActivation::tanh;
};

struct ModelSettings {
  TransformerShape shape;
  // The folder with config.json, the vocabulary and the parameters: the one
  // that was read or, in older models, one in it. Or the GGUF file.
  std::string transformer_folder;
  // What Tokenizer::read() is given, and what tokenizer_config.json and
  // sentence-transformers' settings change of it.
  std::string tokenizer_file;
  BertNormalization normalization;
  // The number of tokens used of a sentence, including [CLS] and [SEP]:
  // max_seq_length, or else model_max_length; never more than most_tokens().
  std::size_t max_tokens = 0;
  // Which setting max_tokens comes from: max_seq_length, model_max_length or
  // max_position_embeddings.
  std::string_view max_tokens_key = "max_position_embeddings";
  // If there are several, all different, they follow one another in the
  // embedding in this order. Without modules.json, or if no pooling is named:
  // mean.
  std::vector<Pooling> pooling = {Pooling::mean};
  std::vector<DenseSettings> dense{};
  // The embedding is divided by its length. Without modules.json it is not.
  bool normalize = false;
  // The embedding is cut to its first numbers, after it was normalised.
  std::optional<std::size_t> truncate_dim{};
  // Prompts by name, and the name of the default prompt (empty: none). A prompt
  // is prepended to each sentence.
  std::map<std::string, std::string> prompts{};
  std::string default_prompt{};
  // Whether pooling includes the tokens of the prompt.
  bool pools_prompt = true;

  // The positions of the model, or of one without such a limit as many as
  // tokens can be counted.
  std::size_t most_tokens() const {
    constexpr std::size_t kMost = (std::size_t{1} << 31) - 1;
    return shape.max_positions == 0 ? kMost : shape.max_positions;
  }
};

Result<ModelSettings> read_model_settings(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
