// Step 6c, attention with linear biases: the farther a key is from its query,
// the lower its score:
//
//   alibi_scores[b,h,i,j] = scores[b,h,i,j] - slopes[h] * distance
//   distance              = |i + query_start - j|
//
//   scores        (B, Hq, Lq, Lkv)  in
//   slopes        (Hq)              in, one per query head
//   alibi_scores  (B, Hq, Lq, Lkv)  out
//
// Added after a softcap and a dense bias. Distances are whole numbers, rounded
// to binary32 (exact up to 2^24).
// Source: Press, Smith & Lewis 2022, arXiv:2108.12409.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The paper's slopes (num_heads). If n = num_heads is a power of two they are
// 2^(-8/n), 2^(-16/n), ..., 2^-8; otherwise those of the next lower power of
// two, followed by every second one of the next higher power of two, from its
// first. The same bits on every machine. Errors: invalid_argument for 0 heads,
// out_of_memory.
Result<Tensor<float, 1>> alibi_slopes(std::size_t num_heads);

// Slopes that were checked against the sizes of a call.
class BoundAlibi {
 public:
  BoundAlibi() = default;  // nothing is added
  // No view: no slopes. Errors: shape_mismatch unless there is one per query
  // head; invalid_argument for a slope that is not between -1e19 and 1e19 (so
  // that its product with any distance is finite).
  HEADWISE_HIDDEN static Result<BoundAlibi> bind(
      TensorView<const float, 1> slopes, const CallContext& context);

  bool given() const { return slopes_.data() != nullptr; }
  // The sizes that the slopes were bound to.
  const AttentionShape& shape() const { return context_.shape; }
  // No view: there are none.
  TensorView<const float, 1> slopes() const { return slopes_; }
  // Only if given().
  float slope(std::size_t h) const { return slopes_(h); }
  // i + query_start - j; the distance is its magnitude.
  std::int64_t offset(std::size_t b, std::size_t i, std::size_t j) const {
    return static_cast<std::int64_t>(i) + context_.first_position(b) -
           static_cast<std::int64_t>(j);
  }
  // The offsets of the next run, for a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  TensorView<const float, 1> slopes_;
  CallContext context_;
};

// The output may be the scores themselves. Errors: shape_mismatch for other
// shapes, or slopes that were bound to other sizes; invalid_argument if no
// slopes were given, and for an output that overlaps the slopes, or the scores
// without being the same tensor; out_of_memory.
Status add_alibi(TensorView<const float, 4> scores, const BoundAlibi& alibi,
                 TensorView<float, 4> alibi_scores, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
