#include "attention/statistics/weighted_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/forward/share_tile.h"
#include "attention/kernel.h"
#include "attention/ragged_weights.h"
#include "base/check.h"
#include "base/logarithm.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/workspace.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr float kLeast = 0x1p-60f;

// Of the numbers: the logarithms and the reciprocals.
struct Weighing {
  Tensor<float, 3> logarithms;
  Tensor<float, 3> reciprocals;
};

Result<Weighing> weighing_by(TensorView<const float, 3> numbers,
                             const Executor& executor) {
  HEADWISE_ASSIGN(auto logarithms,
                  Tensor<float, 3>::create_unset(numbers.extents()));
  HEADWISE_ASSIGN(auto reciprocals,
                  Tensor<float, 3>::create_unset(numbers.extents()));
  const auto [B, H, Lkv] = numbers.extents();
  const auto weigh = [&, heads = H, keys = Lkv](std::size_t n) {
    for (std::size_t j = 0; j < keys; ++j) {
      const std::size_t b = n / heads;
      const std::size_t h = n % heads;
      const float number = std::max(numbers(b, h, j), kLeast);  // keeps NaN
      logarithms(b, h, j) =
          std::isfinite(number)
              ? static_cast<float>(natural_log(static_cast<double>(number)))
              : number;
      reciprocals(b, h, j) = 1 / number;
    }
  };
  executor.parallel_for(B * H, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      weigh(n);
    }
  });
  return Weighing{std::move(logarithms), std::move(reciprocals)};
}

Status check_share_options(std::string_view operation,
                           const AttentionOptions& options,
                           const OperationOptions& operation_options) {
  const StatisticsOptions& asked = operation_options.statistics;
  const std::string_view given = asked.columns ? "statistics.columns"
                                 : asked.map   ? "statistics.map"
                                 : options.offsets.batched_queries() ? "offsets"
                                                                     : "";
  return given.empty() ? ok()
                       : value_error(operation, given, "given", "none",
                                     ErrorCode::unsupported);
}

// With other outcomes, the sums need the keys' share of the attention weights.
bool nothing_else(const AttentionSpec& spec, const AttentionOutputs& outputs) {
  return spec.shape.Dv == 0 && !spec.statistics.any() &&
         spec.attn_weights == AttnWeights::none &&
         spec.scores == ScoresStage::none && outputs.lse.data() == nullptr &&
         outputs.softmax_rows.data() == nullptr && !spec.sinks.given() &&
         spec.added_keys.count() == 0;
}

Status pool(const AttentionSpec& spec, AttentionStatistics& statistics) {
  HEADWISE_ASSIGN(statistics.pooled, pool_statistics(statistics.rows, spec));
  return ok();
}

}  // namespace

Result<WeightedShares> attention_with_shares(
    std::string_view operation, const AttentionInputsOf<float>& inputs,
    TensorView<const float, 3> numbers, const AttentionOutputs& outputs,
    const AttentionOptions& options, const OperationOptions& operation_options,
    StatisticsOf wanted) {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(check_all_queries(operation, operation_options.query_part));
  HEADWISE_TRY(check_share_options(operation, options, operation_options));
  HEADWISE_ASSIGN(const auto shape,
                  attention_shape(inputs.query.extents(), inputs.key.extents(),
                                  inputs.value.extents()));
  OperationOptions with_rows = operation_options;
  with_rows.statistics.rows = true;
  HEADWISE_ASSIGN(const auto share_spec,
                  AttentionSpec::create(shape, options, with_rows, operation));
  AttentionSpec spec = share_spec;
  AttentionOutputs all = outputs;
  AttentionStatistics weights;
  if (wanted == StatisticsOf::shares_and_weights) {
    HEADWISE_ASSIGN(weights, AttentionStatistics::create(spec));
    all.statistics = weights.views();
  } else {
    spec.statistics = {};
  }
  const CallTensors tensors(inputs, all);
  HEADWISE_TRY(check_call("attention", spec, tensors));
  const Extents<3> of_keys = {inputs.key.extent(0), inputs.query.extent(2),
                              inputs.key.extent(1)};
  HEADWISE_TRY(check_shape(operation, "norms", numbers.extents(),
                           "(B, Hq, Lkv)", of_keys));
  HEADWISE_ASSIGN(const auto weighing, weighing_by(numbers, *spec.executor));
  HEADWISE_ASSIGN(
      auto sums,
      Tensor<float, 3>::create({inputs.query.extent(0), inputs.query.extent(1),
                                inputs.query.extent(2)}));
  HEADWISE_ASSIGN(auto statistics, AttentionStatistics::create(share_spec));
  if (spec.shape.B != 0 && spec.shape.Lq != 0) {
    const KeyShares shares = {share_spec,           weighing.logarithms,
                              weighing.reciprocals, sums,
                              statistics.views(),   nothing_else(spec, all)};
    const Schedule schedule = schedule_of(share_spec);
    HEADWISE_ASSIGN(
        auto workspace,
        Workspace::create(statistics_workspace_bytes(spec, schedule, &shares)));
    statistics_kernel({spec, schedule, tensors, &shares}, workspace.data());
    fill_beyond_sequences<float>(spec, tensors);
  }
  HEADWISE_TRY(pool(share_spec, statistics));
  if (spec.statistics.any()) {
    HEADWISE_TRY(pool(spec, weights));
  }
  return WeightedShares{std::move(sums), std::move(statistics),
                        std::move(weights)};
}

}  // namespace headwise::internal::inline HEADWISE_ABI
