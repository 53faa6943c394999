#include "through_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "copy_of.h"
#include "headwise/attention/forward.h"
#include "headwise/heads/rollout.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

Status check_layer_numbers(const Tensor<float, 3>& through) {
  return std::ranges::any_of(through.elements(),
                             [](float x) { return std::isnan(x); })
             ? Status(option_error("--model", "computes NaN",
                                   "attention weights that are numbers",
                                   ErrorCode::bad_data))
             : ok();
}

}  // namespace

Status check_flow_tokens(const ViewedHeads& heads) {
  const std::size_t tokens = heads.text().query_labels.size();
  if (tokens > kMostFlowTokens) {
    return option_error(
        "TEXT", message("has {} tokens", tokens),
        message("at most {} with --attribution flow", kMostFlowTokens));
  }
  return ok();
}

Result<Tensor<float, 3>> rollout_of(const ViewedHeads& heads,
                                    TensorView<const float, 3> rows) {
  struct Kept {
    Tensor<float, 4> query;
    Tensor<float, 4> key;
    std::shared_ptr<const AttentionOptions> attention;
  };
  std::vector<Kept> kept;
  const auto keep = [&](const NumberedLayer& layer) -> Status {
    if (layer.heads.none()) {  // passes everything on
      return ok();
    }
    HEADWISE_ASSIGN(auto query, copy_of(layer.query));
    HEADWISE_ASSIGN(auto key, copy_of(layer.key));
    kept.push_back({std::move(query), std::move(key), layer.attention});
    return ok();
  };
  HEADWISE_TRY(heads.visit({}, keep));
  std::vector<ComparedHeads> layers;
  for (const Kept& layer : kept) {
    layers.push_back({.query = layer.query,
                      .key = layer.key,
                      .options = layer.attention.get()});
  }
  if (!layers.empty()) {
    HEADWISE_ASSIGN(auto shares, rollout(layers, rows, heads.options()));
    HEADWISE_TRY(check_layer_numbers(shares));
    return shares;
  }
  HEADWISE_ASSIGN(auto copy, copy_of(as_batch_of_one(rows)));
  return std::move(copy).without_batch();
}

Result<Tensor<float, 3>> mean_weights_of(const ViewedHeads& heads) {
  const std::size_t L = heads.text().query_labels.size();
  const AttentionOptions of_all = heads.options();
  HEADWISE_ASSIGN(auto weights,
                  Tensor<float, 3>::create({heads.layers().size(), L, L}));
  std::size_t n = 0;
  const auto weigh = [&](const NumberedLayer& layer) -> Status {
    const std::size_t at = n++;
    if (layer.heads.none()) {
      return ok();
    }
    AttentionOptions options = layer.options(of_all);
    options.attn_weights = AttnWeights::mean;
    HEADWISE_ASSIGN(auto unused,
                    Tensor<float, 4>::create_unset(layer.query.extents()));
    return attention(layer.query, layer.key, layer.key,
                     {.output = unused,
                      .attn_weights = TensorView<float, 4>(&weights(at, 0, 0),
                                                           {1, 1, L, L})},
                     options);
  };
  HEADWISE_TRY(heads.visit({}, weigh));
  HEADWISE_TRY(check_layer_numbers(weights));
  return weights;
}

}  // namespace headwise::cli
