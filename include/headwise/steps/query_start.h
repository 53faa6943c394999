// Where the queries stand among the keys: query i of sequence b stands at
// position i + query_start[b]. Used by causal masks and by dropout alike; never
// guessed from the shapes.
//
//   0                     the first query stands at the first key (default)
//   the cache's length    queries that continue cached keys
//   bottom_right()        Lkv - Lq of the tensors' extents (ragged: of the
//                         sequence): the last query stands at the last key
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class QueryStart {
 public:
  QueryStart() = default;
  // The same for every sequence; may be negative.
  // NOLINTNEXTLINE(google-explicit-constructor): `.query_start = 12`
  QueryStart(std::int64_t start) : start_(start) {}
  // One number per sequence: (B). A view, or a std::vector<std::int64_t> or
  // another type that converts to one; it must outlive the call.
  template <class Numbers>
  requires std::convertible_to<Numbers, TensorView<const std::int64_t, 1>>
  // NOLINTNEXTLINE(google-explicit-constructor): `.query_start = starts`
  QueryStart(Numbers&& starts)
      : kind_(Kind::per_sequence), starts_(std::forward<Numbers>(starts)) {}
  static QueryStart bottom_right() {
    QueryStart start;
    start.kind_ = Kind::bottom_right;
    return start;
  }

  // Errors: shape_mismatch when there is not one number a sequence,
  // out_of_range beyond +-2^62.
  Status check(const AttentionShape& shape) const;
  bool differs_by_sequence() const { return kind_ == Kind::per_sequence; }
  // The number of sequence b, for a call of these sizes.
  std::int64_t of(std::size_t b, const AttentionShape& shape) const;

 private:
  enum class Kind { number, per_sequence, bottom_right };

  Kind kind_ = Kind::number;
  std::int64_t start_ = 0;
  TensorView<const std::int64_t, 1> starts_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
