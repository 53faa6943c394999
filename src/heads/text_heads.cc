#include "heads/text_heads.h"

#include <limits>
#include <utility>

#include "headwise/attention/statistics.h"
#include "headwise/heads/special_tokens.h"
#include "headwise/steps/mask.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Tensor<bool, 2>> separators_in(const TextModel& model,
                                      const std::vector<TokenId>& ids) {
  auto separators = Tensor<bool, 2>::create({1, ids.size()});
  for (std::size_t t = 0; separators && t < ids.size(); ++t) {
    (*separators)(0, t) = is_separator(model.token(ids[t]));
  }
  return separators;
}

// Statistics of queries and keys, without values.
Result<PooledStatistics> pooled_of(const ProjectedHeads& heads,
                                   std::size_t tokens, bool causal_mask,
                                   TensorView<const bool, 2> separators,
                                   const Executor& executor) {
  const auto query = heads.query(0, tokens);
  const auto key = heads.key(0, tokens);
  Extents<4> no_value = key.extents();
  Extents<4> no_output = query.extents();
  no_value[3] = 0;
  no_output[3] = 0;
  AttentionOptions options;
  options.mask = causal_mask ? causal() : Mask();
  options.executor = &executor;
  auto done = attention_statistics(
      query, key, TensorView<const float, 4>(nullptr, no_value),
      {.output = TensorView<float, 4>(nullptr, no_output)}, options,
      {.statistics = {.rows = true, .separators = separators}});
  HEADWISE_TRY(done);
  return std::move(done->pooled);
}

std::size_t count_heads(const TextModel& model) {
  std::size_t heads = 0;
  for (std::size_t layer = 0; layer < model.shape().num_layers; ++layer) {
    heads += model.heads_in(layer).size();
  }
  return heads;
}

}  // namespace

std::vector<ComparedLayer> TextHeads::compared() const {
  std::vector<ComparedLayer> all;
  for (const ProjectedHeads& layer : layers) {
    all.push_back({layer.query(0, ids.size()), layer.key(0, ids.size())});
  }
  return all;
}

Result<TextHeads> text_heads(const TextModel& model, std::string_view text,
                             std::size_t max_tokens, const Executor& executor) {
  auto encoded = model.encode(text, max_tokens);
  HEADWISE_TRY(encoded);
  TextHeads found{.ids = std::move(encoded->ids), .cut = encoded->cut};
  if (found.ids.empty()) {
    found.statistics.assign(count_heads(model) * kStatistics,
                            std::numeric_limits<float>::quiet_NaN());
    return found;
  }
  const auto separators = separators_in(model, found.ids);
  HEADWISE_TRY(separators);
  const auto see = [&](std::size_t layer,
                       TensorView<const float, 3> hidden) -> Status {
    if (model.heads_in(layer).empty()) {
      return ok();
    }
    auto heads = ProjectedHeads::of(model.attention(layer), hidden, executor);
    HEADWISE_TRY(heads);
    const auto pooled = pooled_of(*heads, found.ids.size(),
                                  model.shape().causal, *separators, executor);
    HEADWISE_TRY(pooled);
    const auto means = pooled->means.elements();
    found.statistics.insert(found.statistics.end(), means.begin(), means.end());
    found.layers.push_back(*std::move(heads));
    return ok();
  };
  HEADWISE_TRY(
      model.run({found.ids}, {.before_each = see, .executor = &executor}));
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
