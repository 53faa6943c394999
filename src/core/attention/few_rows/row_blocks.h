// The keys and values of one head, a block at a time, as the loops for few
// queries read them (kernels/stored_tile.h): from tensors, or from a cache.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/stored_tile.h"

namespace headwise::inline HEADWISE_ABI {

// Some keys of a head in a row, at most kKeyBlock of them.
struct RowBlock {
  std::span<const kernels::KeyPanel> panels;   // as many as hold these keys
  std::span<const kernels::ValueRows> values;  // exactly these keys
};

class RowBlocks {
 public:
  // The next blocks are of key head g of sequence b, in their order.
  virtual void begin(std::size_t b, std::size_t g) = 0;
  // The keys [first, first + count) of the sequence, at least one. Valid until
  // the next call.
  virtual RowBlock block(std::size_t first, std::size_t count) = 0;
  // Whether all values of the block are finite.
  virtual bool all_finite(const RowBlock& block) const = 0;
  // The loops for the types of the panels and of the values.
  virtual const kernels::StoredTile& key_loops() const = 0;
  virtual const kernels::StoredTile& value_loops() const = 0;

 protected:
  ~RowBlocks() = default;
};

}  // namespace headwise::inline HEADWISE_ABI
