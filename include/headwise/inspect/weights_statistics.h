// What each head does, in numbers, from attention weights that another program
// computed: `output_attentions` of transformers, for example.
//
//   attn_weights  (B, Hq, Lq, Lkv)  0 or more, finite
//
// The statistics are those of attention/statistics.h, of the weights as they
// are: a row that does not sum to 1 is not divided by its sum. A row without
// any weight counts as a fully masked row. Sums are in binary64, each
// statistic is rounded once.
//
// Errors of the operation "weights_statistics":
//   bad_data  a weight that is negative or not finite, named by its index
//       ("attn_weights[0, 2, 1, 3]"); rows beyond query_lengths may hold
//       anything
//   those of AttentionSpec::create() for the statistics and query_start
//   out_of_memory
//
// Example:
//   AttentionStatistics done = weights_statistics(
//       weights, {}, {.statistics = {.rows = true}}).value();
//   float entropy = done.pooled.mean(h, Statistic::entropy);
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Uses query_start and the executor of `options`, and the statistics of
// `operation_options`.
Result<AttentionStatistics> weights_statistics(
    TensorView<const float, 4> attn_weights, const AttentionOptions& options,
    const OperationOptions& operation_options);

// A row's weights sum to 1 if their sum is at most this far from it: more than
// rounding each weight to bfloat16 can do.
inline constexpr double kRowSumTolerance = 0.005;

// Rows whose weights do not sum to 1, as after dropout, next to a sink, or
// because the numbers are scores.
struct UnevenRows {
  std::size_t rows = 0;    // that have a weight
  std::size_t uneven = 0;  // of them
  // Where the sum is farthest from 1, if uneven is not 0.
  double sum = 1;
  std::size_t sequence = 0;
  std::size_t head = 0;
  std::size_t query = 0;
};

// Of all sequences; `query_lengths` (B) as in StatisticsOptions. The weights
// were checked by weights_statistics().
UnevenRows uneven_rows(TensorView<const float, 4> attn_weights,
                       TensorView<const std::int64_t, 1> query_lengths = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
