// The statistics of heads by what the keys add to the output, in place of the
// attention weights:
//
//   sums[i,h]      = sum_j w[h,i,j] norms[h,j]
//   share[h,i,j]   = w[h,i,j] norms[h,j] / sums[i,h]
//
//   w       attention weights
//   norms   (B, Hq, Lkv)  in   |f|: heads/norm_statistics.h
//   sums    (B, Lq, Hq)   out  0 in a fully masked row
//
// The shares are the softmax of the scores plus ln norms[h,j], so all
// statistics of attention/statistics.h are computed of them in one pass
// that keeps no matrix of all pairs. A norm below 2^-60 counts as 2^-60. Added
// keys and sinks have no norm and no share; sums hold what they leave to the
// keys.
//
// In a ragged batch, norms are (1, Hq, key rows) and sums (1, query rows, Hq).
//
// Source: Kobayashi et al. 2020, arXiv:2004.10102, section 3: w |f|.
//
// Example:
//   auto norms = value_norms(layer, value).value();
//   auto done = norm_statistics(query, key, norms, {},
//                               {.statistics = {.rows = true}}).value();
//   done.shares.pooled.mean(head, Statistic::separator);
#pragma once

#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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

// Errors: invalid_argument while an input size of the layer is open;
// shape_mismatch for values that do not have the layer's heads; unsupported for
// a layer in bf16 that keeps only rounded parameters; out_of_memory.
Result<Tensor<float, 3>> value_norms(
    const MultiHeadAttention& layer, TensorView<const float, 4> value,
    const Executor& executor = Executor::default_executor());

// How much each key adds to each output of a layer, all heads together:
//
//   norms[i,j] = |sum_h w[h,i,j] f[h,j]|
//
// with the attention weights w and what the heads make of the keys, f
// (heads/norm_statistics.h). Heads may point in opposite directions, so this is
// at most the sum of their norms. No matrix of all pairs is kept: the results
// are the means over the queries and a small map.
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

struct NormStatistics {
  Tensor<float, 3> sums;
  AttentionStatistics shares;
};

// operation_options.statistics are those of the shares; their rows are always
// there. Errors: those of attention_statistics(); shape_mismatch for norms that
// do not fit; unsupported for columns and maps of the shares.
Result<NormStatistics> norm_statistics(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    TensorView<const float, 3> norms, const AttentionOptions& options,
    const OperationOptions& operation_options);

// attention() and norm_statistics() in one pass, with the bits of both: the
// scores are computed once. Errors: those of both.
Result<NormStatistics> attention_with_norms(
    const AttentionInputsOf<float>& inputs, TensorView<const float, 3> norms,
    const AttentionOutputs& outputs, const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// Of the attention weights, and of the shares.
struct StatisticsWithNorms {
  AttentionStatistics weights;
  NormStatistics norms;
};

// attention_statistics() and norm_statistics() in one pass, with the bits of
// both: the scores are computed once. operation_options.statistics are those of
// both; the rows of both are always there. If value and output have head size
// 0, only the statistics are computed. Errors: those of attention_with_norms();
// unsupported for columns and maps, also of the weights.
Result<StatisticsWithNorms> attention_statistics_with_norms(
    const AttentionInputsOf<float>& inputs, TensorView<const float, 3> norms,
    const AttentionOutputs& outputs, const AttentionOptions& options = {},
    const OperationOptions& operation_options = {});

// The mean of the sums of each head over the queries that have a key; NaN where
// none has. With query_lengths, queries beyond them are left out.
std::vector<double> mean_sums(
    const NormStatistics& statistics,
    TensorView<const std::int64_t, 1> query_lengths = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
