// Step 3: token ids to vectors, by looking them up:
//
//   embedded[b,t,:] = weight[ids[b,t],:]
//
//   ids       (B, L)                   in
//   weight    (vocab_size, embed_dim)  the parameter embedding.weight
//   embedded  (B, L, embed_dim)        out
//
// Backward: d_weight[id,:] is the sum of d_embedded[b,t,:] over the tokens with
// this id, in blocks of 128 tokens of one sequence, blocks added in order.
//
// Example:
//   Embedding embedding =
//       Embedding::create({.vocab_size = 100, .embed_dim = 512}, Seed{7})
//           .value();
//   Tensor<float, 3> embedded = embedding.forward(padded.ids).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct EmbeddingConfig {
  std::size_t vocab_size = 0;
  std::size_t embed_dim = 0;
};

class Embedding {
 public:
  // weight ~ N(0, 1), as PyTorch's nn.Embedding; the same numbers on every
  // machine. Errors: invalid_argument for a size of 0.
  static Result<Embedding> create(const EmbeddingConfig& config, Seed seed);
  // weight (vocab_size, embed_dim).
  static Result<Embedding> from_weight(Tensor<float, 2> weight);

  // (B, L) -> (B, L, embed_dim). Errors: out_of_range for an id outside
  // [0, vocab_size); the message names the sequence and the position.
  Result<Tensor<float, 3>> forward(TensorView<const TokenId, 2> ids) const;

  // d_weight (vocab_size, embed_dim) from d_embedded (B, L, embed_dim). The row
  // `frozen`, such as that of the padding token, gets 0. `offsets` (B + 1), for
  // a ragged batch: where the sequences begin in the one row of tokens. Errors:
  // shape_mismatch, out_of_range as forward(), those of Offsets::check,
  // out_of_memory.
  Result<Tensor<float, 2>> backward(
      TensorView<const TokenId, 2> ids, TensorView<const float, 3> d_embedded,
      std::optional<TokenId> frozen = {},
      TensorView<const std::int64_t, 1> offsets = {}) const;

  // Lets `change` write the weight's elements. No other call may run meanwhile.
  void update(FunctionRef<void(std::span<float> weight)> change) {
    change(weight_.elements());
  }

  std::size_t vocab_size() const { return weight_.extent(0); }
  std::size_t embed_dim() const { return weight_.extent(1); }
  TensorView<const float, 2> weight() const { return weight_.view(); }

 private:
  explicit Embedding(Tensor<float, 2> weight) : weight_(std::move(weight)) {}

  Tensor<float, 2> weight_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
