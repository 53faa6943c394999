#include "headwise/heads/norm_statistics.h"

#include <limits>
#include <utility>

#include "attention/statistics/weighted_shares.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<StatisticsWithNorms> statistics_of(
    std::string_view operation, const AttentionInputsOf<float>& inputs,
    TensorView<const float, 3> norms, const AttentionOutputs& outputs,
    const AttentionOptions& options, const OperationOptions& operation_options,
    StatisticsOf wanted) {
  return catching_out_of_memory([&]() -> Result<StatisticsWithNorms> {
    HEADWISE_ASSIGN(auto done, internal::attention_with_shares(
                                   operation, inputs, norms, outputs, options,
                                   operation_options, wanted));
    return StatisticsWithNorms{std::move(done.weights),
                               {std::move(done.sums), std::move(done.shares)}};
  });
}

Result<NormStatistics> norms_of(Result<StatisticsWithNorms> done) {
  HEADWISE_TRY(done);
  return std::move(done->norms);
}

TensorView<float, 4> without_features(Extents<4> extents) {
  extents[3] = 0;
  return {nullptr, extents};
}

}  // namespace

Result<NormStatistics> norm_statistics(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    TensorView<const float, 3> norms, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  AttentionOptions no_outputs = options;
  no_outputs.attn_weights = AttnWeights::none;
  no_outputs.scores = ScoresStage::none;
  return norms_of(statistics_of(
      "norm_statistics", {query, key, without_features(key.extents())}, norms,
      {.output = without_features(query.extents())}, no_outputs,
      operation_options, StatisticsOf::shares));
}

Result<NormStatistics> attention_with_norms(
    const AttentionInputsOf<float>& inputs, TensorView<const float, 3> norms,
    const AttentionOutputs& outputs, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return norms_of(statistics_of("attention_with_norms", inputs, norms, outputs,
                                options, operation_options,
                                StatisticsOf::shares));
}

Result<StatisticsWithNorms> attention_statistics_with_norms(
    const AttentionInputsOf<float>& inputs, TensorView<const float, 3> norms,
    const AttentionOutputs& outputs, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return statistics_of("attention_statistics_with_norms", inputs, norms,
                       outputs, options, operation_options,
                       StatisticsOf::shares_and_weights);
}

std::vector<double> mean_sums(const NormStatistics& statistics,
                              TensorView<const std::int64_t, 1> query_lengths) {
  const auto [B, Lq, H] = statistics.sums.extents();
  std::vector<double> means(H);
  for (std::size_t h = 0; h < H; ++h) {
    double sum = 0;
    std::size_t rows = 0;
    for (std::size_t b = 0; b < B; ++b) {
      const std::size_t queries =
          query_lengths.data() == nullptr
              ? Lq
              : static_cast<std::size_t>(query_lengths(b));
      for (std::size_t i = 0; i < queries; ++i) {
        const float of_row = statistics.sums(b, i, h);
        sum += static_cast<double>(of_row);
        rows += of_row != 0 ? 1 : 0;
      }
    }
    means[h] = rows == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sum / static_cast<double>(rows);
  }
  return means;
}

}  // namespace headwise::inline HEADWISE_ABI
