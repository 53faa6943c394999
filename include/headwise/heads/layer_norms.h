// How much each key adds to each output of a layer, all heads together:
//
//   norms[i,j] = |sum_h w[h,i,j] f[h,j]|
//
// with the attention weights w and what the heads make of the keys, f
// (heads/value_norms.h). Heads may point in opposite directions, so this is at
// most the sum of their norms. No matrix of all pairs is kept: the
// results are the means over the queries and a small map.
//
//   query    (B, Lq, Hq, D)                     in
//   key      (B, Lkv, Hkv, D)                   in
//   value    (B, Lkv, Hkv, Dv)                  in
//   columns  (B, Lkv)                           out  mean over the queries
//   map      (B, map_size(Lq), map_size(Lkv))   out  mean over a cell's pairs
//
// The norms are sums in binary64 of w f . w f, from the products f[h,j] .
// f[h',j] of each key; time grows with Lq Lkv Hq^2.
//
// Bits depend neither on the batch nor on the threads.
//
// Source: Kobayashi et al. 2020, arXiv:2004.10102, section 3.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LayerNorms {
  Tensor<float, 2> columns;
  Tensor<float, 3> map;
};

// `heads` are those that attention() of the layer compares, `options` those of
// its call. In a ragged batch the columns are (1, key rows), and cells beyond
// those of a shorter sequence are 0. Errors: those of value_norms() and
// attention(); unsupported for ragged keys of batched queries
// (Offsets::with_batched_queries()).
Result<LayerNorms> layer_norms(const MultiHeadAttention& layer,
                               const AttentionInputsOf<float>& heads,
                               const AttentionOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
