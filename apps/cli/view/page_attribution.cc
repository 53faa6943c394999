#include "page_attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "copy_of.h"
#include "gradient_target.h"
#include "headwise/heads/integrated_gates.h"
#include "headwise/heads/rollout.h"
#include "shell/progress_bar.h"
#include "through_layers.h"

namespace headwise::cli {
namespace {

// (1, L, Hq, Dv): that of its group for each query head.
Result<Tensor<float, 4>> value_of_each(TensorView<const float, 4> value,
                                       std::size_t heads) {
  const auto [B, L, Hkv, Dv] = value.extents();
  HEADWISE_ASSIGN(auto all, Tensor<float, 4>::create_unset({B, L, heads, Dv}));
  for (std::size_t j = 0; j < L; ++j) {
    for (std::size_t h = 0; h < heads; ++h) {
      std::copy_n(&value(0, j, h * Hkv / heads, 0), Dv, &all(0, j, h, 0));
    }
  }
  return all;
}

// Of the layers that have heads, by their numbers.
Result<std::vector<PageAttribution::Gradient>> page_gradients(
    const GradientTarget& target, const Executor& executor) {
  std::vector<PageAttribution::Gradient> found;
  const auto see = [&](const GradientLayer& layer) -> Status {
    auto d_context = copy_of(layer.d_context);
    auto value = value_of_each(layer.heads.value, layer.heads.query.extent(2));
    auto sums = gradient_attention(layer.heads, layer.d_context, layer.options);
    HEADWISE_TRY(d_context);
    HEADWISE_TRY(value);
    HEADWISE_TRY(sums);
    Tensor<float, 4> map;
    if (!pooled_by_page(layer.d_context.extent(1), value->extent(1))) {
      HEADWISE_ASSIGN(map, gradient_attention_map(layer.heads, layer.d_context,
                                                  layer.options));
    }
    found.resize(std::max(found.size(), layer.number + 1));
    found[layer.number] = {*std::move(d_context), *std::move(value),
                           *std::move(sums), std::move(map)};
    return ok();
  };
  HEADWISE_TRY(target.target().visit_gradients(target.ids(), see, executor));
  return found;
}

Result<Tensor<float, 3>> identity(std::size_t size) {
  HEADWISE_ASSIGN(auto rows, Tensor<float, 3>::create({1, size, size}));
  for (std::size_t i = 0; i < size; ++i) {
    rows(0, i, i) = 1;
  }
  return rows;
}

}  // namespace

Result<PageAttribution> PageAttribution::compute(
    const PageAttributionFlags& flags, const ViewedHeads& heads) {
  PageAttribution made;
  if (!flags.of_gradients().empty()) {
    HEADWISE_TRY(made.take_gradients(flags, heads));
  }
  if (flags.has("rollout") || flags.has("flow")) {
    HEADWISE_ASSIGN(made.output_token_,
                    output_token(flags.common, heads.text()));
  }
  if (flags.has("flow")) {
    HEADWISE_TRY(check_flow_tokens(heads));
    HEADWISE_TRY(made.take_flow(heads));
  }
  if (flags.has("rollout")) {
    HEADWISE_TRY(made.take_rollout(heads));
  }
  return made;
}

Status PageAttribution::take_gradients(const PageAttributionFlags& flags,
                                       const ViewedHeads& heads) {
  AttributionFlags named = flags.common;
  named.name = flags.of_gradients();
  if (!heads.text().causal && (flags.has("rollout") || flags.has("flow"))) {
    named.output_token.reset();  // that of rollout and flow
  }
  HEADWISE_ASSIGN(const auto target, GradientTarget::read(named, heads));
  const Executor& executor = *heads.options().executor;
  const GradientOf& of = target.of();
  target_ = ViewedTarget{of.label, of.token, of.output_token, of.value};
  if (flags.has("gradient")) {
    HEADWISE_ASSIGN(gradients_, page_gradients(target, executor));
  }
  const std::pair<const char*, GatePath> paths[] = {
      {"integrated", GatePath::all_layers},
      {"integrated-by-layer", GatePath::each_layer}};
  for (const auto& [name, path] : paths) {
    if (!flags.has(name)) {
      continue;
    }
    HEADWISE_ASSIGN(auto parts, integrated_gates(target.target().gated(
                                                     target.ids(), executor),
                                                 0, {.path = path}));
    (path == GatePath::all_layers ? integrated_ : integrated_by_layer_) =
        std::move(parts);
  }
  return ok();
}

Status PageAttribution::take_rollout(const ViewedHeads& heads) {
  const std::size_t tokens = heads.text().query_labels.size();
  if (tokens > kMostMapLength) {
    return option_error(
        "TEXT", message("has {} tokens", tokens),
        message("at most {} with --attribution rollout", kMostMapLength));
  }
  HEADWISE_ASSIGN(const auto rows, identity(tokens));
  HEADWISE_ASSIGN(rollout_, rollout_of(heads, rows));
  return ok();
}

Status PageAttribution::take_flow(const ViewedHeads& heads) {
  const std::size_t tokens = heads.text().query_labels.size();
  HEADWISE_ASSIGN(const auto weights, mean_weights_of(heads));
  HEADWISE_ASSIGN(auto all, Tensor<float, 2>::create_unset({tokens, tokens}));
  ProgressBar bar{"flow", "tokens"};
  const Progress progress = bar.progress();
  for (std::size_t i = 0; i < tokens; ++i) {
    HEADWISE_ASSIGN(const auto flow,
                    attention_flow(weights, i, *heads.options().executor));
    for (std::size_t j = 0; j < tokens; ++j) {
      all(i, j) = static_cast<float>(flow(j));
    }
    if (progress) {
      progress(i + 1, tokens);
    }
  }
  flow_ = std::move(all);
  return ok();
}

void PageAttribution::add_to(ViewPageSettings& settings) const {
  settings.target = target_;
  settings.through.output_token = output_token_;
  if (rollout_.size() != 0) {
    settings.through.rollout = {rollout_.data(),
                                {rollout_.extent(1), rollout_.extent(2)}};
  }
  if (flow_.size() != 0) {
    settings.through.flow = flow_;
  }
}

void PageAttribution::add_to(const NumberedLayer& seen,
                             ViewedLayer& given) const {
  if (!seen.of_text) {
    return;
  }
  const auto numbers = [&](const std::vector<std::vector<double>>& parts) {
    return parts.empty() ? std::span<const double>() : parts[seen.number];
  };
  given.integrated = numbers(integrated_);
  given.integrated_by_layer = numbers(integrated_by_layer_);
  if (!gradients_.empty()) {
    const Gradient& gradient = gradients_[seen.number];
    given.gradient = {.d_context = gradient.d_context,
                      .value = gradient.value,
                      .columns = gradient.sums.columns,
                      .totals = gradient.sums.totals};
    if (gradient.map.size() != 0) {
      given.gradient.map = gradient.map;
    }
  }
}

}  // namespace headwise::cli
