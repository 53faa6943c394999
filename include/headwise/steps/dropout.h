// Step 9, in training: some attention weights are dropped, the others grow, so
// that their expectation stays (inverted scaling):
//
//   dropped[b,h,i,j] = kept ? attn_weights[b,h,i,j] / (1 - p) : 0
//
//   attn_weights  (B, Hq, Lq, Lkv)  in
//   dropped       (B, Hq, Lq, Lkv)  out
//
// Which are kept is a function of the seed, step, layer, sequence id, head,
// query position and key alone: nothing is stored, and neither threads nor the
// place of a sequence in its batch matter (docs/arithmetic.md gives it).
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
#include "headwise/steps/call_context.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Dropout {
  // The probability that a weight is dropped. Not given: 0, or in a layer the
  // layer's own.
  std::optional<double> p{};
  // Nothing is dropped unless training, or a keep mask is given.
  bool training = false;
  Seed seed{};
  std::uint64_t step = 0;
  std::uint32_t layer = 0;
  // (B); a sequence that keeps its id keeps its bits. Not given: 0, 1, 2, ...
  TensorView<const std::int64_t, 1> sequence_ids{};
  // (B, Hq, Lq, Lkv), true = kept: used in place of the generator; p then
  // gives the factor 1 / (1 - p) alone.
  TensorView<const bool, 4> keep_mask{};
};

// Dropout that was checked against the sizes of a call.
class BoundDropout {
 public:
  // Errors: invalid_argument (p outside [0, 1]), shape_mismatch, out_of_range
  // (a sequence id outside [0, 2^32)).
  static Result<BoundDropout> bind(const Dropout& dropout,
                                   const CallContext& context);

  // The sizes that the dropout was bound to.
  const AttentionShape& shape() const { return context_.shape; }
  // Whether anything can be dropped or scaled.
  bool active() const { return active_; }
  bool keeps(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const;
  // keeps() of every weight, for showing and for keep_mask: (B, Hq, Lq, Lkv).
  // Errors: out_of_memory.
  Result<Tensor<bool, 4>> materialize() const;
  // What a kept weight is multiplied by: 1 / (1 - p).
  double factor() const { return factor_; }

  // The inputs of the generator, for code that draws elsewhere: a weight is
  // kept where its word is at least the threshold.
  PhiloxKey key() const { return key_; }
  std::uint64_t threshold() const { return threshold_; }
  std::uint32_t sequence_id(std::size_t b) const;
  // The word of query i of sequence b: its position, modulo 2^32.
  std::uint32_t position(std::size_t b, std::size_t i) const;
  // No view: the generator decides.
  TensorView<const bool, 4> keep_mask() const { return dropout_.keep_mask; }
  // Those of the next run, of a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  BoundDropout(const Dropout& dropout, const CallContext& context);

  Dropout dropout_;
  CallContext context_;
  PhiloxKey key_{};
  std::uint64_t threshold_ = 0;  // kept where word >= threshold
  double factor_ = 1;
  bool active_ = false;
};

// `dropped` may be attn_weights itself. Errors: shape_mismatch for other
// shapes, or dropout that was bound to other sizes; invalid_argument for an
// output that shares memory with attn_weights, but is not the same tensor.
Status apply_dropout(TensorView<const float, 4> attn_weights,
                     const BoundDropout& dropout, TensorView<float, 4> dropped);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
