// What a rank keeps of a layer whose heads are divided.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "module/layer_state.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// The transposed columns that give the gradients of what was projected. They
// hold the rank's input features, and of w_o those of its heads.
struct LayerColumns {
  Linear w_q;
  Linear w_k;
  std::optional<Linear> w_v;
  std::optional<Linear> w_o;
};

// What each rank has of an axis.
struct LayerRanges {
  std::vector<PartRange> heads;
  std::vector<PartRange> kv_heads;
  std::vector<PartRange> outputs;  // features of w_o
  std::vector<PartRange> query;    // features of the inputs
  std::vector<PartRange> key;
  std::vector<PartRange> value;
};

struct LayerParts {
  std::size_t ranks;
  std::size_t rank;
  // The configuration, the groups and all parameters that are small; its w_q
  // and w_k have no output features, and it has neither w_v nor w_o.
  LayerState whole;
  LayerRanges ranges;
  // The rank's heads, as a layer without a w_o.
  LayerState own;
  std::optional<Linear> w_o;            // the rank's output features
  std::optional<LayerColumns> columns;  // in training
  // Which projections have a bias, as a rank without features cannot tell.
  bool bias_q;
  bool bias_k;
  bool bias_v;
  bool bias_o;

  bool trains() const { return columns.has_value(); }
  std::size_t bytes() const;
};

// Errors: those of LayerShard::create().
Result<LayerParts> parts_of_layer(const MultiHeadAttention& layer,
                                  std::size_t ranks, std::size_t rank,
                                  bool training);

}  // namespace headwise::inline HEADWISE_ABI
