// Where the queries are among the keys: query i of sequence b is at position i
// + query_start[b]. Masks, ALiBi, dropout and statistics use it; it is never
// guessed from the shapes.
//
//   0                     the first query is at the first key (default)
//   the cache's length    queries that continue cached keys
//   bottom_right()        Lkv - Lq of the tensors (ragged: of the sequence):
//                         the last query is at the last key
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
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
  // One number per sequence: (B). Takes a view, a std::vector<std::int64_t>, or
  // another type that converts to a view; it must outlive the call.
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

  // Errors: shape_mismatch if there is not one number per sequence,
  // out_of_range beyond +-2^62.
  HEADWISE_HIDDEN Status check(const AttentionShape& shape) const;
  // Whether it is anything but 0 for every sequence.
  bool given() const { return kind_ != Kind::number || start_ != 0; }
  bool differs_by_sequence() const { return kind_ == Kind::per_sequence; }
  bool is_bottom_right() const { return kind_ == Kind::bottom_right; }
  // The number for sequence b, in a call with these sizes.
  std::int64_t of(std::size_t b, const AttentionShape& shape) const;

 private:
  enum class Kind { number, per_sequence, bottom_right };

  Kind kind_ = Kind::number;
  std::int64_t start_ = 0;
  TensorView<const std::int64_t, 1> starts_;
};

// The call to which masks, biases, ALiBi, dropout and statistics are bound, and
// against which they are checked.
struct CallContext {
  AttentionShape shape{};
  QueryStart query_start{};
  // Begins the messages; read only while something is bound.
  std::string_view operation = "attention";

  // The position of query 0 of sequence b among the keys.
  std::int64_t first_position(std::size_t b) const {
    return query_start.of(b, shape);
  }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
