#include "onnx/contrib_operators.h"

#include <vector>

namespace headwise::inline HEADWISE_ABI {

std::span<const OnnxOperator> contrib_operators() {
  using Names = std::vector<std::string_view>;
  static const Names of_attention = {"do_rotary",
                                     "mask_filter_value",
                                     "num_heads",
                                     "past_present_share_buffer",
                                     "qkv_hidden_sizes",
                                     "rotary_embedding_dim",
                                     "scale",
                                     "unidirectional"};
  static const Names of_group_query = {
      "causal",         "do_rotary", "kv_num_heads",       "local_window_size",
      "num_heads",      "qk_output", "rotary_interleaved", "scale",
      "smooth_softmax", "softcap"};
  static const Names of_multi_head = {"mask_filter_value", "num_heads", "scale",
                                      "unidirectional"};
  static const Names of_matmul = {"alpha", "transA", "transB", "transBatchA",
                                  "transBatchB"};
  static const Names of_norms = {"epsilon"};
  // Their opset is that of the standard operators next to them.
  static const std::vector<OnnxOperator> table = {
      {"Attention", kFirstOpset, 2, 7, 2, of_attention, run_contrib_attention},
      {"BiasGelu", kFirstOpset, 2, 2, 1, {}, run_bias_gelu},
      {"FastGelu", kFirstOpset, 1, 2, 1, {}, run_fast_gelu},
      {"FusedMatMul", kFirstOpset, 2, 2, 1, of_matmul, run_fused_matmul},
      {"Gelu", kFirstOpset, 1, 1, 1, {}, run_bias_gelu},
      {"GroupQueryAttention", kFirstOpset, 1, 17, 4, of_group_query,
       run_group_query_attention},
      {"MultiHeadAttention", kFirstOpset, 1, 10, 4, of_multi_head,
       run_multi_head_attention},
      {"QuickGelu", kFirstOpset, 1, 1, 1, {"alpha"}, run_quick_gelu},
      {"SkipLayerNormalization", kFirstOpset, 3, 5, 4, of_norms,
       run_skip_layer_normalization},
      {"SkipSimplifiedLayerNormalization", kFirstOpset, 3, 4, 4, of_norms,
       run_skip_rms_normalization},
  };
  return table;
}

}  // namespace headwise::inline HEADWISE_ABI
