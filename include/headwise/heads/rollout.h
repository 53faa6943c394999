// Attention rollout: how much of each input token reaches an output token
// through all layers, if attention and the residual connection pass it on in
// equal parts.
//
//   A_l[i,j]  = mean over the heads of the attention weights of layer l
//   M_l[i,j]  = (A_l[i,j] + [i = j]) / (sum_j A_l[i,j] + 1)
//   rollout   = rows M_N ... M_2 M_1
//
//   rows     (B, R, L)   in   weights of the output tokens; a row that is 1
//                             at one token asks for that token
//   rollout  (B, R, L)   out  shares of the input tokens; each row keeps its
//                             sum
//
// The sum of a row of A is 1 with a plain softmax, so M is half of A and half
// of the identity. It is 0 in a fully masked row, which keeps its own
// token, and less than 1 with a sink or added keys, which are no tokens. A
// layer without heads passes everything on.
//
// The rows go through the layers from the last to the first, each time in one
// pass over queries and keys: memory grows with R L, never with L^2.
//
// Bits depend neither on the batch nor on the threads.
//
// Source: Abnar & Zuidema 2020, arXiv:2005.00928, section 3.
//
// Example:
//   auto first = Tensor<float, 3>::create({1, 1, L}).value();
//   first(0, 0, 0) = 1;  // of [CLS]
//   auto shares = rollout(layers, first).value();
#pragma once

#include <span>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/head_groups.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Queries and keys of a layer as attention compares them.
struct ComparedHeads {
  TensorView<const float, 4> query;  // (B, L, Hq, D); Hq is 0 without heads
  TensorView<const float, 4> key;    // (B, L, Hkv, D)
  // Of this layer, as pruning may leave them; else those of the options.
  HeadGroups kv_groups{};
};

// `layers` from the first to the last; the options are those of every layer.
// In a ragged batch B is 1 and L counts the tokens of all sequences. Errors:
// those of attention(); shape_mismatch for layers and rows of different
// lengths; invalid_argument for no layer.
Result<Tensor<float, 3>> rollout(
    std::span<const ComparedHeads> layers, TensorView<const float, 3> rows,
    const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
