// A transformer of any family, from the files as they are published: token ids
// to hidden states, attention weights and logits.
//
//   ids      B sequences          in   steps/tokens.h
//   hidden   (rows, hidden_size)  out  the sequences' tokens, one after another
//   logits   (rows, vocab_size)   out  of the token after each row
//
// A folder holds config.json, whose model_type says the family
// (docs/families.md), and model.safetensors or its index with shards; or the
// path is that of a GGUF file.
// Everything is computed in float32, or with Arithmetic::bf16 from products of
// numbers rounded to bfloat16. The batch is ragged: no padding is computed. A
// token's bits depend only on its own sequence, not on the batch, its place in
// it or the threads.
//
// Over a ModelCache a decoder computes only the tokens that a pass adds.
//
// An encoder-decoder takes the ids of its encoder, and those of its decoder in
// ModelPass::decoder_ids, whose hidden states it gives.
//
// Errors of reading: io_error; bad_data for settings or tensors that are
// missing, not finite or do not fit together; unsupported for a family, an
// activation or a kind of positions that is not known; out_of_memory.
//
// Example:
//   Transformer model = Transformer::read("model").value();
//   Tensor<float, 2> hidden = model.hidden({{1, 450, 4996}}).value();
//   Tensor<float, 2> logits = model.logits(hidden).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/param_terms.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What a model will be used for. For training it keeps all parameters twice.
enum class ModelUse { inference, training };

struct ModelAccess {
  FileAccess file = FileAccess::mapped;
  ModelUse use = ModelUse::inference;
  // bf16: every projection and attention multiplies numbers rounded to bfloat16
  // (docs/arithmetic.md), forward and backward. Embeddings, norms and
  // activations are as in exact. For inference the projections then take half
  // the memory; for training the parameters are float32, as in exact, with
  // rounded copies that update() renews.
  Arithmetic arithmetic = Arithmetic::exact;
  // Of an encoder-decoder, reads its encoder as a model of its own.
  bool encoder_alone = false;
};

struct TransformerShape {
  std::string family;          // model_type of the settings
  std::size_t num_layers = 0;  // of an encoder-decoder, those of its decoder
  std::size_t num_heads = 0;   // query heads of a layer
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t hidden_size = 0;
  std::size_t vocab_size = 0;
  std::size_t max_positions = 0;  // 0: no limit
  std::size_t token_types = 0;    // of a pair's sentences; 0: none
  // How tokens become what attention takes.
  double embedding_scale = 1;
  bool has_position_table = false;
  bool has_embedding_norm = false;
  bool projects_embeddings = false;
  // Layers from this one on have a norm before their attention; none: no layer.
  std::optional<std::size_t> attention_norm_from{};
  double norm_eps = 0;  // of the norms of rows
  NormKind norm_kind = NormKind::layer;
  std::size_t encoder_layers = 0;  // 0: no encoder-decoder
  std::size_t encoder_heads = 0;
  TokenId decoder_start = 0;  // what a decoder's sequences begin with
  bool causal = false;
  bool has_logits = false;
};

// The attention of a layer of which heads were removed.
struct KeptAttention {
  std::size_t layer;
  MultiHeadAttention attention;
  std::vector<std::size_t> kept_heads;  // their numbers, ascending
};

// What a forward pass in training keeps for its backward pass. It can be used
// for one backward pass, and be moved but not copied.
class TransformerSaved {
 public:
  // (rows, hidden_size), as Transformer::hidden() gives it.
  TensorView<const float, 2> hidden() const { return hidden_.view(); }

 private:
  friend class Transformer;
  struct HEADWISE_HIDDEN State;

  Tensor<float, 2> hidden_;
  Hidden<State> state_;  // null after the backward pass
};

// A model that was moved from can only be destroyed or assigned to.
class Transformer {
 public:
  static Result<Transformer> read(const std::string& path,
                                  const ModelAccess& access = {});
  // Of the text of a config.json, and tensors by their names in files. Errors
  // call these "config" and "params".
  static Result<Transformer> create(std::string_view config, NamedArrays params,
                                    const ModelAccess& access = {});
  // What the settings say, without the parameters: whether it `has_logits`, if
  // only they may say so, is false.
  static Result<TransformerShape> read_shape(const std::string& path);

  const TransformerShape& shape() const;
  // What the model gives, after its last norm. Errors: out_of_range for an id
  // outside the vocabulary and a sequence of more than max_positions tokens;
  // invalid_argument for decoder_ids that are missing, superfluous or of
  // another number of sequences, and for heads that the model lacks; those of
  // the pass; out_of_memory. With a cache also out_of_range where it has no
  // room; an error during the pass ends its sequences.
  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass = {}) const;
  // Of any rows of what hidden() gives. Errors: shape_mismatch; unsupported for
  // a model without logits; out_of_memory.
  Result<Tensor<float, 2>> logits(TensorView<const float, 2> hidden,
                                  const Executor* executor = nullptr) const;

  // The forward pass of training: the same hidden states, and what backward()
  // needs. All layers run. Errors: those of hidden(); invalid_argument for what
  // training does not take: from, before_layer, token_types, see_entries,
  // before_each, see_attn_weights, hooks.edit and hooks.trace; unsupported for
  // an encoder-decoder, and for a model read for inference.
  Result<TransformerSaved> forward_for_backward(
      const RaggedTokens& ids, const ModelPass& pass = {}) const;
  // From d_hidden (rows, hidden_size). If `terms` is given, it receives the
  // terms of the parameters under their names in files, and
  // ModelGradients::params is empty. Errors: shape_mismatch, out_of_memory;
  // invalid_argument for a state that was already used; unsupported for the
  // parameters of experts and of DeBERTa's distances.
  Result<ModelGradients> backward(
      TransformerSaved& saved, TensorView<const float, 2> d_hidden,
      ModelWanted wanted = ModelWanted::params_and_gates,
      ParamTerms* terms = nullptr) const;
  // From d_logits (rows, vocab_size), the gradient of a loss by the logits of
  // saved.hidden(). Errors: those of backward() and of logits().
  Result<ModelGradients> backward_from_logits(
      TransformerSaved& saved, TensorView<const float, 2> d_logits,
      ModelWanted wanted = ModelWanted::params_and_gates) const;

  // Passes each parameter's elements to `change`, which may write them, with
  // its name in files. The name is valid only during that call. No other call
  // may run meanwhile, and backward() refuses what was saved before. The first
  // error of `change` ends the update and is returned; an exception of `change`
  // reaches the caller. What `change` wrote until then stays, and the model
  // remains usable. Errors, before `change` is called: unsupported, as for
  // backward(), and for a model read for inference; out_of_memory.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  // All parameters, read-only; valid until the next update. Empty for
  // inference.
  std::map<std::string, AnyView> params() const;
  // Only the parameters of attention.
  std::map<std::string, AnyView> attention_params() const;

  // The numbers, before pruning, of the heads that a layer has; ascending.
  const std::vector<std::size_t>& heads_in(std::size_t layer) const;
  // The index of a head among those that its layer has. Errors:
  // invalid_argument for one that the model lacks.
  Result<std::size_t> place_of(const AttentionPlace& head) const;
  // It has the heads of heads_in(), in that order. Of an encoder-decoder, that
  // of the decoder's tokens to each other.
  const MultiHeadAttention& attention(std::size_t layer) const;
  HEADWISE_HIDDEN Arithmetic arithmetic() const;
  // The names in files of a parameter of a layer's attention, such as
  // "w_q.weight", empty for one that the family does not have, and of the table
  // of tokens. For training.
  HEADWISE_HIDDEN const std::string& attention_name(
      std::size_t layer, std::string_view param) const;
  HEADWISE_HIDDEN const std::string& tokens_name() const;
  // (heads); empty without sinks.
  HEADWISE_HIDDEN TensorView<const float, 1> sinks(std::size_t layer) const;

  // Replaces the attention of these layers, which are moved from; after an
  // error nothing has changed. Errors: shape_mismatch, out_of_range.
  HEADWISE_HIDDEN Status replace_attention(std::span<KeptAttention> layers);

  struct HEADWISE_HIDDEN State;

 private:
  friend class ModelCache;
  HEADWISE_HIDDEN Status check_has_logits() const;
  HEADWISE_HIDDEN Result<ModelGradients> back(TransformerSaved& saved,
                                              TensorView<const float, 2> d,
                                              bool from_logits,
                                              ModelWanted wanted,
                                              ParamTerms* terms) const;
  explicit Transformer(Hidden<State> state) : state_(std::move(state)) {}
  HEADWISE_HIDDEN Result<Tensor<float, 2>> next_hidden(
      const RaggedTokens& ids, const ModelPass& pass) const;
  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
