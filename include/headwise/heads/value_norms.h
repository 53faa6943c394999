// How much each key can add to the output of a layer, where its attention
// weight says only how often it is read.
//
// The output of a layer is a sum over heads and keys:
//
//   output[i]   = sum_h sum_j w[h,i,j] f[h,j] + b_o
//   f[h,j]      = w_o[h] value[j,h]
//   norms[h,j]  = |f[h,j]|                        the Euclidean norm
//
//   w       attention weights
//   value   (B, Lkv, Hkv, Dv)   in   projected, so with the bias of w_v
//   w_o[h]  (embed_dim, Dv)          the columns of w_o that read head h
//   norms   (B, Hq, Lkv)        out
//
// The bias b_o belongs to no key and is left out. In a layer without w_o, f is
// the value. The time grows with Lkv, not with the number of pairs.
//
// Norms are those of float32 parameters, also in a layer in bf16. Bits depend
// neither on the batch nor on the threads.
//
// Source: Kobayashi et al. 2020, arXiv:2004.10102, section 3.
//
// Example:
//   auto value = layer.params()->w_v->forward(x).value();
//   auto norms = value_norms(layer, in_heads).value();
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument while an input size of the layer is open;
// shape_mismatch for values that do not have the layer's heads; unsupported for
// a layer in bf16 that keeps only rounded parameters; out_of_memory.
Result<Tensor<float, 3>> value_norms(
    const MultiHeadAttention& layer, TensorView<const float, 4> value,
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
