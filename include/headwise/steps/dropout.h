// Step 9, in training: some attention weights are dropped and the rest are
// scaled up, so that the expected value stays the same (inverted dropout):
//
//   dropped[b,h,i,j] = kept ? attn_weights[b,h,i,j] / (1 - p) : 0
//
//   attn_weights  (B, Hq, Lq, Lkv)  in
//   dropped       (B, Hq, Lq, Lkv)  out
//
// Which weights are kept depends only on the seed, step, layer, sequence id,
// head, query position and key (docs/arithmetic.md): nothing is stored, and
// neither threads nor the position of a sequence in its batch matter.
//
// Source: Srivastava et al. 2014; the generator: Salmon et al. 2011.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/added_keys.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The place of a part in the whole call (attention/state.h), so that the part
// drops the same weights: head h of the part is head first_head + h *
// head_step, and key j is key first_key + j.
struct DropoutPlace {
  std::size_t first_head = 0;
  std::size_t head_step = 1;
  std::size_t first_key = 0;

  bool operator==(const DropoutPlace&) const = default;
};

struct Dropout {
  // The probability that a weight is dropped. Not given: 0 or, in a layer, the
  // layer's own.
  std::optional<double> p{};
  // Nothing is dropped unless training, or a keep mask is given.
  bool training = false;
  Seed seed{};
  // The number of the training step: each drops other weights. Not given: 0,
  // but MultiHeadAttention::forward_for_backward() must be told.
  std::optional<std::uint64_t> step{};
  std::uint32_t layer = 0;
  // (B); a sequence with the same id has the same bits in any batch. Not given:
  // 0, 1, 2, ...
  TensorView<const std::int64_t, 1> sequence_ids{};
  // (B, Hq, Lq, Lkv), true = kept: used instead of the generator; p then only
  // gives the factor 1 / (1 - p). Added keys also have columns.
  TensorView<const bool, 4> keep_mask{};
  // Used by the generator only; a keep mask has the shape of the part.
  DropoutPlace place{};
};

// Dropout that was checked against the sizes of a call.
class BoundDropout {
 public:
  // Errors: invalid_argument (p outside [0, 1]), shape_mismatch, out_of_range
  // (a sequence id outside [0, 2^32)).
  HEADWISE_HIDDEN static Result<BoundDropout> bind(
      const Dropout& dropout, const CallContext& context,
      const BoundAddedKeys& added = {});

  // The sizes that the dropout was bound to.
  const AttentionShape& shape() const { return context_.shape; }
  // Whether anything can be dropped or scaled.
  bool active() const { return active_; }
  // j is a key, or the number of an added one (BoundAddedKeys::number).
  HEADWISE_HIDDEN bool keeps(std::size_t b, std::size_t h, std::size_t i,
                             std::size_t j) const;
  // keeps() for every weight, to show or to use as keep_mask: (B, Hq, Lq, Lkv),
  // and a column for each added key.
  // Errors: out_of_memory.
  Result<Tensor<bool, 4>> materialize() const;
  // The factor on kept weights: 1 / (1 - p).
  double factor() const { return factor_; }

  // The inputs of the generator, for kernels that draw numbers themselves: a
  // weight is kept if its word is at least the threshold.
  PhiloxKey key() const { return key_; }
  std::uint64_t threshold() const { return threshold_; }
  std::uint32_t sequence_id(std::size_t b) const;
  // The generator's inputs for head h, for query i of sequence b (its
  // position), both modulo 2^32, and for key j.
  HEADWISE_HIDDEN std::uint32_t head(std::size_t h) const;
  HEADWISE_HIDDEN std::uint32_t position(std::size_t b, std::size_t i) const;
  HEADWISE_HIDDEN std::size_t key(std::size_t j) const;
  // No view: the generator decides.
  TensorView<const bool, 4> keep_mask() const { return dropout_.keep_mask; }
  // The column of j in it.
  std::size_t column(std::size_t j) const {
    return added_.column(j, context_.shape.Lkv);
  }
  // The offsets of the next run, for a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  HEADWISE_HIDDEN BoundDropout(const Dropout& dropout,
                               const CallContext& context,
                               const BoundAddedKeys& added);

  Dropout dropout_;
  CallContext context_;
  BoundAddedKeys added_;
  PhiloxKey key_{};
  std::uint64_t threshold_ = 0;  // kept if word >= threshold
  double factor_ = 1;
  bool active_ = false;
};

// `dropped` may be attn_weights itself. Errors: shape_mismatch for other
// shapes, or dropout that was bound to other sizes; invalid_argument for an
// output that overlaps attn_weights without being the same tensor.
Status apply_dropout(TensorView<const float, 4> attn_weights,
                     const BoundDropout& dropout, TensorView<float, 4> dropped);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
