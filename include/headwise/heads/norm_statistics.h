// The statistics of heads by what the keys add to the output, in place of the
// attention weights:
//
//   sums[i,h]      = sum_j w[h,i,j] norms[h,j]
//   share[h,i,j]   = w[h,i,j] norms[h,j] / sums[i,h]
//
//   w       attention weights
//   norms   (B, Hq, Lkv)  in   |f|: heads/value_norms.h
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
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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
