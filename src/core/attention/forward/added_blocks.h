// The added keys of one head (steps/added_keys.h) as the inner loops read them:
// each is a block of its own with one key.
#pragma once

#include <array>
#include <cstddef>

#include "headwise/attention/spec.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

class AddedBlocks {
 public:
  AddedBlocks(const AttentionSpec& spec, Arena& arena);

  // Takes those of key head g.
  void pack(std::size_t g);

  std::size_t count() const { return spec_.added_keys.count(); }
  // As the products take it, packed_key_size() floats.
  const float* key(std::size_t n) const { return keys_[n]; }
  // In panels of 8 columns, (1, 8) each.
  const float* values(std::size_t n) const { return values_[n]; }
  // The key's column among returned attention weights.
  std::size_t column(std::size_t n) const { return spec_.shape.Lkv + n; }
  // The queries of `tile` against added key n, which dropout knows by its
  // number.
  Tile tile(Tile of, std::size_t n) const {
    of.first_key = spec_.added_keys.number(n);
    of.keys = 1;
    return of;
  }

 private:
  const AttentionSpec& spec_;
  std::array<float*, BoundAddedKeys::kMost> keys_{};
  std::array<float*, BoundAddedKeys::kMost> values_{};
  float* row_;  // of a key or a value that is packed
};

}  // namespace headwise::inline HEADWISE_ABI
