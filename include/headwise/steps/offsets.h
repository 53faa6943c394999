// A ragged batch: sequences of different lengths follow one another on one axis
// of rows, without padding. Sequence b has the rows
// [offsets[b], offsets[b + 1]).
//
//   query   (total queries, Hq, D)     offsets[0] = 0
//   key     (total keys, Hkv, D)       offsets do not decrease
//   value   (total keys, Hkv, Dv)      offsets[B] = total
//
// The bits are those of the same sequences with padding, and of each sequence
// alone.
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
  // The same for queries and keys. Takes a view, a std::vector<std::int64_t>,
  // or another type that converts to a view.
  template <class Numbers>
  requires std::convertible_to<Numbers, TensorView<const std::int64_t, 1>>
  // NOLINTNEXTLINE(google-explicit-constructor): `.offsets = offsets`
  Offsets(Numbers&& offsets)
      : query(std::forward<Numbers>(offsets)), key(query), given_(true) {}
  Offsets(TensorView<const std::int64_t, 1> query_offsets,
          TensorView<const std::int64_t, 1> key_offsets)
      : query(query_offsets), key(key_offsets), given_(true) {}

  // Ragged keys of a batch of queries (B, Lq, Hq, D), as in a cache: the same
  // number of queries for each sequence.
  static Offsets with_batched_queries(
      TensorView<const std::int64_t, 1> query_offsets,
      TensorView<const std::int64_t, 1> key_offsets) {
    Offsets offsets(query_offsets, key_offsets);
    offsets.batched_queries_ = true;
    return offsets;
  }

  // Whether offsets were given. An empty view is a mistake that check()
  // reports, not a padded batch.
  bool ragged() const { return given_; }
  bool batched_queries() const { return batched_queries_; }
  // Number of sequences; only for a ragged batch.
  std::size_t sequences() const { return query.extent(0) - 1; }

  // Checks that they divide `queries` rows and `keys` rows into the same number
  // of sequences. Errors: shape_mismatch, out_of_range.
  Status check(std::size_t queries, std::size_t keys,
               std::string_view operation) const;

 private:
  bool given_ = false;
  bool batched_queries_ = false;
};

// The length of the longest sequence.
std::size_t longest(TensorView<const std::int64_t, 1> offsets);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
