// T5's relative-position bias: each score gains a number that depends on the
// head and on how far the key is from its query:
//
//   t5_scores[b,h,i,j] = scores[b,h,i,j] + table[bucket(j - i - query_start),
//   h]
//
//   scores     (B, Hq, Lq, Lkv)  in
//   table      (buckets, Hq)     in
//   t5_scores  (B, Hq, Lq, Lkv)  out
//
// One direction has n buckets: all of them, or half of them if the bias is
// bidirectional, where those of later keys follow those of earlier ones. With
// E = n / 2, rounded down, and the distance x = |j - i - query_start| (0 for a
// later key if there is one direction), the bucket is
//
//   x                                                          for x < E
//   E + floor(ln(x / E) / ln(max_distance / E) * (n - E))      up to n - 1
//
// Added after a softcap and a dense bias. T5 itself scales q.k by 1.
// Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1; the formula is
// that of its implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct T5Bias {
  // (buckets, Hq); no view: nothing is added. The view must outlive the call.
  TensorView<const float, 2> table{};
  // From this distance on, every key is in the last bucket of its direction.
  std::int64_t max_distance = 128;
  bool bidirectional = false;  // true in T5's encoder, false in its decoder
};

// A bias that was checked against the sizes of a call.
class BoundT5Bias {
 public:
  // The keys from this offset on, up to that of the next piece, share a bucket.
  // The offset of a key is j - (i + query_start).
  struct Piece {
    std::int64_t first;
    std::size_t bucket;
  };

  BoundT5Bias() = default;  // nothing is added
  // No table: no bias. Errors: shape_mismatch unless the table has a column per
  // query head; invalid_argument for a number in it that is not between -2e38
  // and 2e38, for fewer than 2 buckets a direction, for an odd number of them
  // if the bias is bidirectional, and for a max_distance of E or less;
  // out_of_memory.
  HEADWISE_HIDDEN static Result<BoundT5Bias> bind(const T5Bias& bias,
                                                  const CallContext& context);

  bool given() const { return table_.data() != nullptr; }
  // The sizes that the bias was bound to.
  const AttentionShape& shape() const { return context_.shape; }
  // No view: there is none.
  TensorView<const float, 2> table() const { return table_; }
  // In the order of their offsets; the first begins at the smallest number.
  std::span<const Piece> pieces() const {
    return pieces_ == nullptr ? std::span<const Piece>() : *pieces_;
  }
  std::int64_t offset(std::size_t b, std::size_t i, std::size_t j) const {
    return static_cast<std::int64_t>(j) -
           (static_cast<std::int64_t>(i) + context_.first_position(b));
  }
  // Only if given(), as the next.
  std::size_t bucket(std::int64_t offset) const;
  float operator()(std::size_t h, std::int64_t offset) const {
    return table_(bucket(offset), h);
  }
  // The same in another call; allocates nothing. Only if the call has as many
  // query heads.
  BoundT5Bias bound_to(const CallContext& context) const {
    BoundT5Bias other = *this;
    other.context_ = context;
    return other;
  }
  // The offsets of the next run, for a ragged batch.
  void set_offsets(const Offsets& offsets) { context_.shape.offsets = offsets; }

 private:
  TensorView<const float, 2> table_;
  std::shared_ptr<const std::vector<Piece>> pieces_;  // of all copies
  CallContext context_;
};

// The output may be the scores themselves. Errors: shape_mismatch for other
// shapes, or a bias that was bound to other sizes; invalid_argument if no bias
// was given, and for an output that overlaps the table, or the scores without
// being the same tensor; out_of_memory.
Status add_t5_bias(TensorView<const float, 4> scores, const BoundT5Bias& bias,
                   TensorView<float, 4> t5_scores, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
