// The encoder of a BERT-family model: token ids to one vector per token.
//
//   x = LayerNorm(word[id] + position[t] + token_type[type])
//   in each layer
//     x = LayerNorm(x + attention(x, x, x))
//     x = LayerNorm(x + w_out gelu(w_in x + b_in) + b_out)
//
//   ids     B sequences                    in   steps/tokens.h
//   type    0, or for a pair of sentences  in   ModelPass::token_types
//           1 in the second
//   hidden  (rows, hidden_size)            out  the sequences' tokens, one
//                                               after another
//
// The batch is ragged: no padding is computed. A token's bits depend only on
// its own sequence, not on the batch, its place in it or the threads.
//
// Parameters are read from model.safetensors or, for models in shards,
// model.safetensors.index.json, by the names that BERT and DistilBERT give them
// (with or without the prefix "bert." or "distilbert."). Pruned heads are not
// in the file; its metadata says which heads were kept. For inference the
// encoder keeps the parameters packed, and reads float32 word embeddings
// directly from the file's bytes: see FileAccess for files that another program
// changes. For gradients, read with BertUse::training, which keeps all
// parameters twice.
//
// The backward pass takes d_hidden, the gradient of a loss with respect to
// hidden, and gives the gradients of all parameters and, per sequence, of the
// heads' gates. The sums over the tokens are those of docs/arithmetic.md: no
// bit depends on threads.
//
// Errors of reading: io_error; bad_data for a file of another format, and for
// parameters that are missing, not finite or of sizes that do not match the
// config; out_of_memory.
//   read_bert_encoder: m.safetensors: encoder.layer.0.output.dense.weight has
//   shape (384, 1535), expected (hidden_size, intermediate_size) = (384, 1536)
//
// Source: Devlin et al. 2018, arXiv:1810.04805, section 3; Sanh et al. 2019,
// arXiv:1910.01108 (DistilBERT: no token types).
//
// Example:
//   ModelSettings settings = read_model_settings("model").value();
//   BertEncoder encoder =
//       BertEncoder::read("model", settings.config).value();
//   BertResult result = encoder.forward({{101, 7592, 102}}).value();
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/models/model_settings.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/param_terms.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct BertLayer {
  MultiHeadAttention attention;
  LayerNormParams attention_norm;
  Linear intermediate;  // w_in (intermediate_size, hidden_size)
  Linear output;        // w_out (hidden_size, intermediate_size)
  LayerNormParams output_norm;
};

// What the encoder will be used for.
enum class BertUse { inference, training };

struct BertAccess {
  FileAccess file = FileAccess::mapped;
  BertUse use = BertUse::inference;
  // bf16: every projection and attention multiplies numbers rounded to bfloat16
  // (docs/arithmetic.md), forward and backward. Embeddings, norms and GELU are
  // as in exact. For inference the projections then take half the memory; for
  // training the parameters are float32, as in exact, with rounded copies that
  // update() renews.
  Arithmetic arithmetic = Arithmetic::exact;
};

struct BertResult {
  Tensor<float, 2> hidden;  // (rows, hidden_size)
  // For each layer that was run, if requested: (B, num_heads, L, L) with the L
  // of the longest sequence; 0 where a sequence has no query or key.
  std::vector<Tensor<float, 4>> attn_weights;
};

// What a forward pass in training keeps for its backward pass. It can be used
// for one backward pass, and be moved but not copied.
class BertSaved {
 public:
  // (rows, hidden_size)
  TensorView<const float, 2> hidden() const { return hidden_.view(); }

 private:
  friend class BertEncoder;
  struct HEADWISE_HIDDEN State;

  Tensor<float, 2> hidden_;
  Hidden<State> state_;  // null after the backward pass
};

// The memory of a call. Calls that use the same object allocate it once.
struct BertMemory {
  Tensor<float, 3> hidden{};        // (1, rows, hidden_size)
  Tensor<float, 3> attended{};      // (1, rows, hidden_size)
  Tensor<float, 3> intermediate{};  // (1, rows, intermediate_size)
};

// An encoder that was moved from can only be destroyed or assigned to.
class BertEncoder {
 public:
  // `folder` holds the parameters: settings.transformer_folder.
  static Result<BertEncoder> read(const std::string& folder,
                                  const BertConfig& config,
                                  const BertAccess& access = {});

  // Includes which heads were kept.
  const BertConfig& config() const;
  HEADWISE_HIDDEN Arithmetic arithmetic() const;
  const std::vector<BertLayer>& layers() const;

  // Errors: shape_mismatch for token types that do not fit the tokens,
  // out_of_range for one that the model does not have;
  // out_of_range for an id outside the vocabulary, a sequence of more
  // than max_positions tokens, a layer that does not exist; shape_mismatch for
  // hidden states of other sizes; out_of_memory.
  Result<BertResult> forward(const RaggedTokens& ids,
                             const ModelPass& pass = {}) const;
  // The same; the hidden states are in memory.hidden, and `attn_weights`
  // receives what pass.attn_weights requests.
  Status forward_in(const RaggedTokens& ids, const ModelPass& pass,
                    BertMemory& memory,
                    std::vector<Tensor<float, 4>>& attn_weights) const;

  // The forward pass of training: the same hidden states, and what backward()
  // needs. All layers run. Errors: those of forward(); invalid_argument for
  // pass.from, attn_weights, before_each and hooks.edit; unsupported for an
  // encoder read for inference.
  Result<BertSaved> forward_for_backward(const RaggedTokens& ids,
                                         const ModelPass& pass = {}) const;
  // From d_hidden (rows, hidden_size). If `terms` is given, it receives the
  // terms of all parameters under their names in files, and
  // ModelGradients::params is empty. Errors: shape_mismatch, out_of_memory;
  // invalid_argument for a state that was already used.
  Result<ModelGradients> backward(
      BertSaved& saved, TensorView<const float, 2> d_hidden,
      ModelWanted wanted = ModelWanted::params_and_gates,
      ParamTerms* terms = nullptr) const;

  // Passes each parameter's elements to `change`, which may write them, with
  // its name in files. The name is valid only during that call. No other call
  // may run meanwhile, and backward() refuses what was saved before. The first
  // error of `change` ends the update and is returned; an exception of `change`
  // reaches the caller. What `change` wrote until then stays, and the encoder
  // remains usable. Errors, before `change` is called: unsupported for an
  // encoder read for inference; out_of_memory.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  // All parameters, read-only; valid until the next update. Empty for
  // inference.
  std::map<std::string, AnyView> params() const;
  // Only the parameters of attention.
  std::map<std::string, AnyView> attention_params() const;

  // Replaces the attention of these layers, which are moved from; after an
  // error nothing has changed. Errors: shape_mismatch, out_of_range.
  HEADWISE_HIDDEN Status replace_attention(std::span<KeptAttention> layers);

 private:
  struct HEADWISE_HIDDEN State;

  explicit BertEncoder(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
