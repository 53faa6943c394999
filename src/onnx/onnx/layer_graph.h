// The graph of a layer (headwise/onnx/write_layer.h).
#pragma once

#include "headwise/module/multi_head_attention.h"
#include "headwise/onnx/write_layer.h"
#include "onnx/written_graph.h"

namespace headwise::inline HEADWISE_ABI {

// The graph of a layer that passed the checks of write_onnx_layer().
Result<WrittenGraph> layer_graph(const MultiHeadAttention& layer,
                                 const OnnxLayerOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
