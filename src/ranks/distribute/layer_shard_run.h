// The forward pass of a rank's part of a layer, kept for its backward pass.
#pragma once

#include <cstddef>
#include <vector>

#include "attention/call_part.h"
#include "distribute/layer_parts.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/layer_shard.h"
#include "headwise/run/executor.h"
#include "module/layer_run.h"
#include "module/widened_inputs.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kShardOperation = "layer_shard";

struct LayerShardState {
  LayerParts parts;
};

struct detail::SavedShard {
  const LayerShardState* shard;
  WidenedInputs inputs;
  internal::OptionsOfPart options;  // whose numbers the run's options look at
  LayerRun run;                     // of the rank's heads
  Tensor<float, 3> merged;          // of all heads
};

// Ranges of heads as features.
inline std::vector<PartRange> in_features(std::vector<PartRange> heads,
                                          std::size_t size) {
  for (PartRange& range : heads) {
    range = {range.first * size, range.count * size};
  }
  return heads;
}

// LayerShard::backward(), in float.
Result<MultiHeadAttentionGradients> differentiate_shard(
    Communicator& group, const detail::SavedShard& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights);

// LayerShard::gather().
Result<MultiHeadAttentionParamGradients> gather_gradients(
    Communicator& group, const LayerParts& parts,
    MultiHeadAttentionParamGradients own);

}  // namespace headwise::inline HEADWISE_ABI
