#include "heads/text_heads.h"

#include <limits>
#include <utility>

#include "heads/numbered_heads.h"
#include "heads/pooled_heads.h"
#include "heads/text_layers.h"

namespace headwise::inline HEADWISE_ABI {
std::vector<ComparedLayer> TextHeads::compared() const {
  std::vector<ComparedLayer> all;
  for (const ProjectedHeads& layer : layers) {
    all.push_back({layer.query(0, ids.size()), layer.key(0, ids.size())});
  }
  return all;
}

Result<TextHeads> text_heads(const TextModel& model, std::string_view text,
                             std::size_t max_tokens, HeadGateSpan gates,
                             const Executor& executor) {
  HEADWISE_ASSIGN(auto encoded, model.encode(text, max_tokens));
  TextHeads found{.ids = std::move(encoded.ids), .cut = encoded.cut};
  if (found.ids.empty()) {
    found.statistics.assign(NumberedHeads(model, {}).size() * kStatistics,
                            std::numeric_limits<float>::quiet_NaN());
    return found;
  }
  HEADWISE_ASSIGN(const auto separators, separators_in(model, found.ids));
  const auto see = [&](std::size_t layer,
                       TensorView<const float, 3> hidden) -> Status {
    if (model.heads_in(layer).empty()) {
      return ok();
    }
    HEADWISE_ASSIGN(auto heads, ProjectedHeads::of(model.attention(layer),
                                                   hidden, executor));
    const std::size_t tokens = found.ids.size();
    HEADWISE_ASSIGN(
        const auto pooled,
        known_statistics(heads.query(0, tokens), heads.key(0, tokens),
                         as_batch_of_one(separators), model.shape().causal,
                         executor));
    const auto means = pooled.means.elements();
    found.statistics.insert(found.statistics.end(), means.begin(), means.end());
    found.layers.push_back(std::move(heads));
    return ok();
  };
  HEADWISE_TRY(model.run(
      {found.ids},
      {.head_gates = gates, .before_each = see, .executor = &executor}));
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
