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
// TransformerPass::decoder_ids, whose hidden states it gives.
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
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct TransformerAccess {
  FileAccess file = FileAccess::mapped;
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

// Whose attention: of the tokens to each other; of an encoder-decoder, the
// decoder's tokens to each other (self) or to the encoder's (cross), or the
// encoder's tokens to each other.
enum class AttentionKind : std::uint8_t { self, cross, encoder };

struct AttentionPlace {
  AttentionKind kind = AttentionKind::self;
  std::size_t layer = 0;
  std::optional<std::size_t> head{};  // none: all

  bool operator==(const AttentionPlace&) const = default;
};

struct TransformerPass {
  // As many sequences as the encoder has; of encoder-decoders alone.
  const RaggedTokens* decoder_ids = nullptr;
  // Sees what enters each layer, and at last, as `num_layers`, what the model
  // gives: after its last norm. An error ends the pass.
  std::function<Status(std::size_t layer, TensorView<const float, 2> hidden)>
      see_hidden{};
  // Sees (B, num_heads, Lq, Lkv) of each layer, with the lengths of the longest
  // sequence; 0 where a sequence has no query or key. With `heads`, each with a
  // head, it sees (B, 1, Lq, Lkv) of these, and those of no other head are
  // built.
  std::function<Status(const AttentionPlace& place,
                       TensorView<const float, 4> attn_weights)>
      see_attn_weights{};
  std::vector<AttentionPlace> heads{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// A model that was moved from can only be destroyed or assigned to.
class Transformer {
 public:
  static Result<Transformer> read(const std::string& path,
                                  const TransformerAccess& access = {});

  const TransformerShape& shape() const;
  // What the model gives, after its last norm. Errors: out_of_range for an id
  // outside the vocabulary and a sequence of more than max_positions tokens;
  // invalid_argument for decoder_ids that are missing, superfluous or of
  // another number of sequences, and for heads that the model lacks; those of
  // the pass; out_of_memory.
  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const TransformerPass& pass = {}) const;
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
