#include "stats_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "headwise/inspect/weights_statistics.h"
#include "operation/models/any_heads.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"
#include "statistic_names.h"

namespace headwise::cli {
namespace {

// Whether a pair has weight in any head, (B, Lq, Lkv).
Result<Tensor<bool, 3>> pairs_with_weight(
    TensorView<const float, 4> attn_weights) {
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  HEADWISE_ASSIGN(auto pairs, Tensor<bool, 3>::create({B, Lq, Lkv}));
  for (std::size_t row = 0; row < B * H * Lq; ++row) {
    const std::size_t b = row / (H * Lq);
    const std::size_t i = row % Lq;
    for (std::size_t j = 0; j < Lkv; ++j) {
      pairs(b, i, j) |= attn_weights(b, row / Lq % H, i, j) > 0;
    }
  }
  return pairs;
}

Status leave_out_unknown_of_weights(TensorView<const float, 4> attn_weights,
                                    AttentionOptions options,
                                    const OperationOptions& operation_options,
                                    PooledStatistics& pooled) {
  HEADWISE_ASSIGN(const auto pairs, pairs_with_weight(attn_weights));
  constexpr std::array<Axis, 3> kAxes = {Axis::B, Axis::Lq, Axis::Lkv};
  options.mask = options.mask & dense(pairs.view(), kAxes);
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  HEADWISE_ASSIGN(
      const auto spec,
      AttentionSpec::create(
          {.B = B, .Hq = H, .Hkv = H, .Lq = Lq, .Lkv = Lkv, .D = 1, .Dv = 0},
          options, operation_options));
  leave_out_unknown(spec, pooled);
  return ok();
}

// `norms`, unless null, takes what the keys add, from the same pass. Means that
// are 0 whatever the head does are NaN.
Result<PooledStatistics> statistics_of(
    const NumberedLayer& layer, const AttentionOptions& options,
    const OperationOptions& operation_options, Attribution* norms) {
  if (layer.attn_weights.data() != nullptr) {
    HEADWISE_ASSIGN(auto done, weights_statistics(layer.attn_weights, options,
                                                  operation_options));
    HEADWISE_TRY(leave_out_unknown_of_weights(layer.attn_weights, options,
                                              operation_options, done.pooled));
    return std::move(done.pooled);
  }
  const Extents<4> no_value = without_features(layer.key.extents());
  const TensorView<const float, 4> value(nullptr, no_value);
  const AttentionOutputs outputs = {
      .output = TensorView<float, 4>(nullptr,
                                     without_features(layer.query.extents()))};
  HEADWISE_ASSIGN(
      const auto shape,
      attention_shape(layer.query.extents(), layer.key.extents(), no_value));
  HEADWISE_ASSIGN(const auto spec,
                  AttentionSpec::create(shape, options, operation_options));
  if (norms == nullptr) {
    HEADWISE_ASSIGN(
        auto done,
        attention_statistics(
            CallTensors(AttentionInputsOf<float>{layer.query, layer.key, value},
                        outputs),
            spec));
    leave_out_unknown(spec, done.pooled);
    return std::move(done.pooled);
  }
  HEADWISE_ASSIGN(auto done,
                  attention_statistics_with_norms(
                      {layer.query, layer.key, value}, layer.key_norms, outputs,
                      options, operation_options));
  leave_out_unknown(spec, done.weights.pooled);
  leave_out_unknown(spec, done.norms.shares.pooled);
  add_norms(layer, layer.key_norms, done.norms, *norms);
  return std::move(done.weights.pooled);
}

void add_lines(const NumberedLayer& layer, const PooledStatistics& pooled,
               bool cross, std::vector<HeadLine>& lines) {
  for (std::size_t h = 0; h < pooled.rows.size(); ++h) {
    HeadLine line{layer.number,
                  layer.heads.numbers()[h],
                  {},
                  pooled.rows(h),
                  pooled.rows_without_key(h)};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const auto statistic = static_cast<Statistic>(k);
      line.mean[k] = cross && compares_positions(statistic)
                         ? std::numeric_limits<double>::quiet_NaN()
                         : static_cast<double>(pooled.mean(h, statistic));
    }
    lines.push_back(line);
  }
}

}  // namespace

Result<HeadStats> compute_head_stats(const ViewedHeads& heads,
                                     const OperationFlags& flags,
                                     const AttributionFlags& attribution) {
  HeadStats stats;
  if (attribution.name == "norms") {
    stats.attribution = attribution_by_norms();
  }
  stats.cross = heads.text().cross;
  stats.sequences = heads.text().sequences;
  const AttentionOptions options = heads.options();
  OperationOptions operation_options = heads.operation_options();
  operation_options.statistics.rows = true;
  stats.separators = operation_options.statistics.separators.data() != nullptr;
  const auto see = [&](const NumberedLayer& layer) -> Status {
    if (!layer.heads.pruned().empty()) {
      stats.pruned.push_back({layer.number, layer.heads});
    }
    if (layer.heads.none()) {
      return ok();
    }
    const auto done =
        statistics_of(layer, layer.options(options), operation_options,
                      stats.attribution ? &*stats.attribution : nullptr);
    if (!done) {
      return in_option_words(done.error(), flags);
    }
    add_lines(layer, *done, stats.cross, stats.lines);
    return ok();
  };
  HEADWISE_TRY(heads.visit({.norms = stats.attribution.has_value()}, see));
  // Tensors of the user may hold NaN; a model that computes it is broken.
  if (const ViewedText& text = heads.text(); text.model) {
    HEADWISE_TRY(
        check_numbers(text.nodes.empty() ? "--model" : "--onnx", stats.lines));
  }
  if (attribution.given() && !stats.attribution) {
    HEADWISE_ASSIGN(stats.attribution, compute_attribution(attribution, heads));
  }
  return stats;
}

Status check_numbers(std::string_view option,
                     const std::vector<HeadLine>& lines) {
  const auto nan = std::ranges::find_if(lines, [](const HeadLine& line) {
    return line.queries > line.without_key &&
           std::isnan(line.mean[index_of(Statistic::entropy)]);
  });
  return nan == lines.end()
             ? ok()
             : Status(computes_nan(option, {nan->layer, nan->head}));
}

const HeadAttribution* attribution_of(const HeadStats& stats,
                                      const HeadLine& line) {
  if (!stats.attribution) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(
      stats.attribution->heads, [&](const HeadAttribution& head) {
        return head.layer == line.layer && head.head == line.head;
      });
  return found == stats.attribution->heads.end() ? nullptr : &*found;
}

void sort_by(const std::string& name, HeadStats& stats) {
  const auto statistic = find_statistic(name);
  const auto number_of = [&](const HeadLine& line) {
    if (statistic) {
      return line.mean[*statistic];
    }
    const auto& columns = stats.attribution->columns;
    const auto at = std::ranges::find(columns, name) - columns.begin();
    return attribution_of(stats, line)->numbers[static_cast<std::size_t>(at)];
  };
  std::ranges::stable_sort(
      stats.lines, [&](const HeadLine& a, const HeadLine& b) {
        const double left = number_of(a);
        const double right = number_of(b);
        return !std::isnan(left) && (std::isnan(right) || left > right);
      });
}

}  // namespace headwise::cli
