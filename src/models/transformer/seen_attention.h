// A call of attention, of which the weights of all heads are seen, or of some:
// then those of no other head are built.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/version.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

struct SeenHeads {
  bool all = false;
  std::vector<std::size_t> heads{};  // otherwise
};

struct AttentionCall {
  TensorView<const float, 3> query;
  TensorView<const float, 3> key;  // and value
  AttentionOptions options{};      // without the bias
  // Each as a bias of the scores; null: none.
  const Tensor<float, 2>* bias_of_keys = nullptr;   // (heads, Lkv)
  const Tensor<float, 3>* bias_of_pairs = nullptr;  // (heads, Lq, Lkv)
  // Its hooks are called for the seen heads, too.
  LayerOptions layer{};
};

struct SeenAttention {
  Rows output;
  // Of all heads (B, heads, Lq, Lkv), or of each seen head (B, 1, Lq, Lkv).
  std::vector<Tensor<float, 4>> attn_weights{};
};

// Errors: those of MultiHeadAttention::forward().
Result<SeenAttention> attend(const MultiHeadAttention& attention,
                             AttentionCall call, const SeenHeads& seen);

}  // namespace headwise::inline HEADWISE_ABI::transformer
