// Contexts of heads replaced by something that says nothing about the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/heads/ablation.h"
#include "headwise/module/head_hooks.h"

namespace headwise::inline HEADWISE_ABI {

struct ReplacedHeads {
  std::span<const std::size_t> heads;  // their places in the layer
  Replacement replacement;
  std::span<const std::int64_t> offsets;  // where the sequences begin, and end
  bool causal;                            // for `uniform`
  std::span<const double> means;          // for `mean`: (heads, v_head_dim)
  // The row of all sequences that the context begins with; it may end before
  // the last sequence.
  std::size_t first_row = 0;
};

// In a layer of a ragged batch.
void replace_heads(const ReplacedHeads& replaced, const HeadContext& context);

}  // namespace headwise::inline HEADWISE_ABI
