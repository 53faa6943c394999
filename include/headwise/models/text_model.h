// A model that reads text, of any family, as far as its heads are concerned:
// its tokens, its layers' attention and what enters it. What asks about heads
// is written over this.
//
// A folder or a GGUF file is read as in models/sentence_encoder.h.
//
// Example:
//   auto model = read_text_model("model").value();
//   RaggedTokens ids = {model->encode("Heads matter.", 256).value().ids};
//   Status s = model->run(
//       ids, {.before_each = [&](std::size_t layer,
//                                TensorView<const float, 3> input) {
//         return look_at(model->attention(layer), input);
//       }});
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/special_tokens.h"  // IWYU pragma: export
#include "headwise/module/head_hooks.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct TextModelShape {
  std::size_t num_layers = 0;
  std::size_t num_heads = 0;  // of a layer, before pruning
  std::size_t hidden_size = 0;
  std::size_t vocab_size = 0;
  // The number of tokens used of a text unless more are asked for, the setting
  // that says so, and the most that the model has positions for.
  std::size_t max_tokens = 0;
  std::string_view max_tokens_key;
  std::size_t max_positions = 0;
  // The tokens that encode() adds to a text, such as [CLS] and [SEP].
  std::size_t added_tokens = 0;
  bool causal = false;  // the mask of every layer
  // Of an encoder-decoder; the layers and heads above are those of its decoder,
  // whose sequences begin with the token `decoder_start`.
  std::size_t encoder_layers = 0;
  TokenId decoder_start = 0;
};

struct ModelTokens {
  std::vector<TokenId> ids;
  std::size_t cut = 0;  // tokens beyond max_tokens
  // Of a pair: 0 or 1 for each token; otherwise empty.
  std::vector<TokenId> token_types{};
};

class TextModel {
 public:
  virtual ~TextModel() = default;

  virtual const TextModelShape& shape() const = 0;
  // The numbers, before pruning, of the heads that a layer has; ascending.
  virtual std::vector<std::size_t> heads_in(std::size_t layer) const = 0;
  // It has the heads of heads_in(), in that order.
  virtual const MultiHeadAttention& attention(std::size_t layer) const = 0;

  // Errors: bad_data for text that is not UTF-8; invalid_argument for fewer
  // than added_tokens; out_of_memory.
  virtual Result<ModelTokens> encode(std::string_view text,
                                     std::size_t max_tokens) const = 0;
  // A pair of sentences (Tokenizer::encode_pair()). Errors: those of encode(),
  // with the sentence's name, "first" or "second"; unsupported for a model
  // without token types.
  virtual Result<ModelTokens> encode_pair(std::string_view first,
                                          std::string_view second,
                                          std::size_t max_tokens) const;
  // `id` in [0, vocab_size). Valid as long as the model.
  virtual std::string_view token(TokenId id) const = 0;
  // The token as the page and the reports show it. For byte-level vocabularies:
  // the decoded text, if the token is made of complete characters.
  virtual std::string label(TokenId id) const;
  // Whether it is not part of texts: [CLS], <s>.
  virtual bool is_special(TokenId id) const;

  // Runs the layers on sequences, one after another in the rows. A row's bits
  // depend only on its own sequence. Errors: out_of_range for an id outside the
  // vocabulary, a sequence of more than max_positions tokens, a layer that does
  // not exist; shape_mismatch for gates; those of before_each and of the hooks;
  // out_of_memory.
  virtual Status run(const RaggedTokens& ids, const ModelPass& pass) const = 0;
};

Result<std::unique_ptr<TextModel>> read_text_model(
    const std::string& folder, Arithmetic arithmetic = Arithmetic::exact);
// The same, but an encoder-decoder is read with its decoder: its run() takes
// ModelPass::decoder_ids.
Result<std::unique_ptr<TextModel>> read_any_text_model(
    const std::string& folder, Arithmetic arithmetic = Arithmetic::exact);

// The heads that a model has left, where others may have been pruned.
//
// Example:
//   auto place = place_of_head("ablate", "heads", {3, 1}, heads_left(model));

// Of each layer, the numbers that its heads had before pruning, ascending.
using HeadsLeft = std::vector<std::vector<std::size_t>>;

HeadsLeft heads_left(const Transformer& model);
HeadsLeft heads_left(const TextModel& model);

// The index of a head among those of its layer. Errors: out_of_range, in the
// name of `operation` and `argument`, for a head that the model lacks; it says
// which ones there are.
Result<std::size_t> place_of_head(std::string_view operation,
                                  std::string_view argument, const HeadId& head,
                                  const HeadsLeft& left);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
