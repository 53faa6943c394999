// What each head does, in numbers, computed together with the output: there is
// no Lq x Lkv matrix, and the output has the bits of a call without statistics.
//
// For a row with the attention weights w[j] before dropout and the position p =
// i + query_start:
//
//   entropy    -sum_j w[j] ln w[j], in nats: 0 for one key, ln n for n equal
//              weights
//   distance   sum_j w[j] |p - j|, in keys
//   largest    max_j w[j]
//   first      w of the sequence's first key (after key_starts)
//   previous   w[p - 1]  )
//   self       w[p]      )  0 where there is no such key
//   next       w[p + 1]  )
//   separator  sum of w[j] over the separators, if they are given
//
// Where the head has a sink (steps/sinks.h), its share w is one more term of
// the entropy and of nothing else; the weights of the keys sum to 1 - w. So is
// the weight of each added key (steps/added_keys.h).
//
// In a fully masked row, entropy and distance are NaN and all else is 0. It
// does not count in columns, maps and means.
//
// Like those of the output, their bits depend neither on the batch nor on the
// threads (docs/arithmetic.md, "Statistics").
//
// Source: entropy and distance as in Clark et al. 2019, arXiv:1906.04341; the
// largest weight ("confidence") as in Voita et al. 2019, arXiv:1905.09418.
//
// Example:
//   AttentionStatistics done = attention_statistics(
//       q, k, v, {.output = out},
//       {.mask = causal()}, {.statistics = {.rows = true}}).value();
//   float entropy = done.pooled.mean(h, Statistic::entropy);
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Averages of each head over the rows of all sequences that have a key and are
// below query_lengths.
struct PooledStatistics {
  Tensor<float, 2> means;        // (Hq, kStatistics); NaN if rows is 0
  Tensor<std::int64_t, 1> rows;  // (Hq): the number of rows averaged
  Tensor<std::int64_t, 1> rows_without_key;  // (Hq)

  float mean(std::size_t head, Statistic statistic) const {
    return means(head, index_of(statistic));
  }
};

// What was requested; the rest is empty. In a ragged batch, rows and columns
// have the layout of its tensors: (1, Hq, rows, ..).
struct AttentionStatistics {
  Tensor<float, 4> rows;             // (B, Hq, Lq, kStatistics)
  Tensor<std::int64_t, 4> top_keys;  // (B, Hq, Lq, top_keys); -1: there is none
  Tensor<float, 4> top_weights;      // the same shape: attention weights
  Tensor<float, 3> columns;          // (B, Hq, Lkv)
  Tensor<float, 4> map_mean;         // (B, Hq, map_size(Lq), map_size(Lkv))
  Tensor<float, 4> map_largest;      // the same shape
  PooledStatistics pooled;           // with rows

  // One statistic of query i in head h of sequence b; `rows` was requested.
  float row(std::size_t b, std::size_t h, std::size_t i,
            Statistic statistic) const {
    return rows(b, h, i, index_of(statistic));
  }

  // Tensors for everything that the options of `spec` ask for. Errors:
  // out_of_memory.
  static Result<AttentionStatistics> create(const AttentionSpec& spec);
  StatisticsViews views();
};

// The pooled statistics, from those of the rows. Errors: out_of_memory.
Result<PooledStatistics> pool_statistics(TensorView<const float, 4> rows,
                                         const AttentionSpec& spec);

// attention() with the statistics that operation_options asks for. If value and
// output have head size 0, only the statistics are computed. Errors: those
// of attention().
// The statistics of `tensors` are set to those that are returned.
Result<AttentionStatistics> attention_statistics(
    CallTensors tensors, const AttentionOptions& options,
    const OperationOptions& operation_options);
// With options that were checked already.
Result<AttentionStatistics> attention_statistics(CallTensors tensors,
                                                 const AttentionSpec& spec);
// The same of tensors of each type.
#define HEADWISE_ATTENTION_STATISTICS(T)                                  \
  inline Result<AttentionStatistics> attention_statistics(                \
      TensorView<const T, 4> query, TensorView<const T, 4> key,           \
      TensorView<const T, 4> value, const AttentionOutputsOf<T>& outputs, \
      const AttentionOptions& options,                                    \
      const OperationOptions& operation_options) {                        \
    return attention_statistics(                                          \
        CallTensors(AttentionInputsOf<T>{query, key, value}, outputs),    \
        options, operation_options);                                      \
  }
HEADWISE_ATTENTION_STATISTICS(float)
HEADWISE_ATTENTION_STATISTICS(BFloat16)
HEADWISE_ATTENTION_STATISTICS(Float16)
#undef HEADWISE_ATTENTION_STATISTICS

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
