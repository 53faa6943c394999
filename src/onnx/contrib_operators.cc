#include "onnx/contrib_operators.h"

#include <vector>

namespace headwise::inline HEADWISE_ABI {

std::span<const OnnxOperator> contrib_operators() {
  // Their opset is that of the standard operators next to them.
  static const std::vector<OnnxOperator> table = {
      {"Attention",
       kFirstOpset,
       2,
       7,
       2,
       {"do_rotary", "mask_filter_value", "num_heads",
        "past_present_share_buffer", "qkv_hidden_sizes", "rotary_embedding_dim",
        "scale", "unidirectional"},
       run_contrib_attention},
      {"BiasGelu", kFirstOpset, 2, 2, 1, {}, run_bias_gelu},
      {"FastGelu", kFirstOpset, 1, 2, 1, {}, run_fast_gelu},
      {"FusedMatMul",
       kFirstOpset,
       2,
       2,
       1,
       {"alpha", "transA", "transB", "transBatchA", "transBatchB"},
       run_fused_matmul},
      {"Gelu", kFirstOpset, 1, 1, 1, {}, run_bias_gelu},
      {"GroupQueryAttention",
       kFirstOpset,
       1,
       17,
       4,
       {"causal", "do_rotary", "kv_num_heads", "local_window_size", "num_heads",
        "qk_output", "rotary_interleaved", "scale", "smooth_softmax",
        "softcap"},
       run_group_query_attention},
      {"MultiHeadAttention",
       kFirstOpset,
       1,
       10,
       4,
       {"mask_filter_value", "num_heads", "scale", "unidirectional"},
       run_multi_head_attention},
      {"QuickGelu", kFirstOpset, 1, 1, 1, {"alpha"}, run_quick_gelu},
      {"SkipLayerNormalization",
       kFirstOpset,
       3,
       5,
       4,
       {"epsilon"},
       run_skip_layer_normalization},
      {"SkipSimplifiedLayerNormalization",
       kFirstOpset,
       3,
       4,
       4,
       {"epsilon"},
       run_skip_rms_normalization},
  };
  return table;
}

}  // namespace headwise::inline HEADWISE_ABI
