#include "heads/text_heads.h"

#include <limits>
#include <utility>

#include "heads/numbered_heads.h"
#include "heads/pooled_heads.h"
#include "heads/text_layers.h"

namespace headwise::inline HEADWISE_ABI {
std::vector<ComparedLayer> TextHeads::compared() const {
  std::vector<ComparedLayer> all;
  for (const auto& layer : layers) {
    all.push_back({layer->query(), layer->key(), layer->options()});
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
  const auto see = [&](HookPlace, const HookedHeads& heads) -> Status {
    HEADWISE_ASSIGN(auto kept, KeptInputs::of(heads));
    HEADWISE_ASSIGN(
        const auto pooled,
        known_statistics(kept->query(), kept->key(),
                         as_batch_of_one(separators), kept->options()));
    const auto means = pooled.means.elements();
    found.statistics.insert(found.statistics.end(), means.begin(), means.end());
    found.layers.push_back(std::move(kept));
    return ok();
  };
  HEADWISE_TRY(model.run({found.ids}, {.head_gates = gates,
                                       .hooks = {.see_inputs = see},
                                       .executor = &executor}));
  return found;
}

}  // namespace headwise::inline HEADWISE_ABI
