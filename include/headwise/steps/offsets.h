// A ragged batch: sequences of different lengths stand one after the other on
// one axis of rows, without padding. Sequence b has the rows
// [offsets[b], offsets[b + 1]).
//
//   query   (total queries, Hq, D)     offsets[0] = 0
//   key     (total keys, Hkv, D)       offsets do not decrease
//   value   (total keys, Hkv, Dv)      offsets[B] = total
//
// The bits are those of the same sequences padded, and of each alone.
//
// Example:
//   attention(q, k, v, out, {.mask = causal(), .offsets = offsets});
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Views of B + 1 numbers that must outlive the call; no views: the batch is not
// ragged.
class Offsets {
 public:
  TensorView<const std::int64_t, 1> query{};
  TensorView<const std::int64_t, 1> key{};

  Offsets() = default;
  // The same for queries and keys: a view, or a std::vector<std::int64_t> or
  // another type that converts to one.
  template <class Numbers>
  requires std::convertible_to<Numbers, TensorView<const std::int64_t, 1>>
  // NOLINTNEXTLINE(google-explicit-constructor): `.offsets = offsets`
  Offsets(Numbers&& offsets)
      : query(std::forward<Numbers>(offsets)), key(query), given_(true) {}
  Offsets(TensorView<const std::int64_t, 1> query_offsets,
          TensorView<const std::int64_t, 1> key_offsets)
      : query(query_offsets), key(key_offsets), given_(true) {}

  // Whether they were given: an empty tensor's view is a mistake that check()
  // names, not a batch that is not ragged.
  bool ragged() const { return given_; }
  // Sequences; only of a ragged batch.
  std::size_t sequences() const { return query.extent(0) - 1; }

  // Whether they cut `queries` and `keys` rows into as many sequences. Errors:
  // shape_mismatch, out_of_range.
  Status check(std::size_t queries, std::size_t keys,
               std::string_view operation) const;

 private:
  bool given_ = false;
};

// The longest of the sequences.
std::size_t longest(TensorView<const std::int64_t, 1> offsets);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
