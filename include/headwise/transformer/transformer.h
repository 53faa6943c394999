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
#include <string>
#include <utility>

#include "headwise/base/arithmetic.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/run/executor.h"
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
};

struct TransformerShape {
  std::string family;          // model_type of the settings
  std::size_t num_layers = 0;  // of an encoder-decoder, those of its decoder
  std::size_t num_heads = 0;   // query heads of a layer
  std::size_t num_kv_heads = 0;
  std::size_t hidden_size = 0;
  std::size_t vocab_size = 0;
  std::size_t max_positions = 0;   // 0: no limit
  std::size_t encoder_layers = 0;  // 0: no encoder-decoder
  std::size_t encoder_heads = 0;
  bool causal = false;
  bool has_logits = false;
};

// A model that was moved from can only be destroyed or assigned to.
class Transformer {
 public:
  static Result<Transformer> read(const std::string& path,
                                  const ModelAccess& access = {});

  const TransformerShape& shape() const;
  // What the model gives, after its last norm. Errors: out_of_range for an id
  // outside the vocabulary and a sequence of more than max_positions tokens;
  // invalid_argument for decoder_ids that are missing, superfluous or of
  // another number of sequences, and for heads that the model lacks; those of
  // the pass; out_of_memory.
  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass = {}) const;
  // Of any rows of what hidden() gives. Errors: shape_mismatch; unsupported for
  // a model without logits; out_of_memory.
  Result<Tensor<float, 2>> logits(TensorView<const float, 2> hidden,
                                  const Executor* executor = nullptr) const;

 private:
  struct HEADWISE_HIDDEN State;
  explicit Transformer(Hidden<State> state) : state_(std::move(state)) {}
  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
