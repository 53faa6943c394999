// The keys of a sequence that any of its queries may attend to, in blocks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "headwise/attention/spec.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {

struct SeenKeys {
  std::size_t first = 0;  // the key that blocks are aligned at
  std::size_t end = 0;    // where the last key that a query sees ends
  // The blocks [first_block, end_block) hold all of them.
  std::size_t first_block = 0;

  std::size_t end_block() const {
    return (end - first + kernels::kKeyBlock - 1) / kernels::kKeyBlock;
  }
  // Of a block: its first key in the sequence, and how many keys it has.
  std::size_t first_key(std::size_t block) const {
    return first + block * kernels::kKeyBlock;
  }
  std::size_t count(std::size_t block) const {
    return std::min(kernels::kKeyBlock, end - first_key(block));
  }
};

inline SeenKeys seen_keys(const AttentionSpec& spec, std::size_t b) {
  const SequencePlace place = spec.shape.sequence(b);
  const std::size_t first = spec.mask.first_key(b);
  const std::size_t end = std::max(
      first, std::min(place.Lkv, spec.mask.visible_end(b, 0, place.Lq)));
  const std::size_t begin =
      std::max(first, spec.mask.visible_begin(b, 0, place.Lq));
  return {first, end, (begin - first) / kernels::kKeyBlock};
}

}  // namespace headwise::inline HEADWISE_ABI
