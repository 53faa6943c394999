#include "heads/text_layers.h"

#include <algorithm>
#include <vector>

#include "heads/batches.h"
#include "headwise/heads/each_text.h"
#include "headwise/models/special_tokens.h"
#include "run/shared_progress.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The texts of a batch that have tokens. They go through the layers together.
struct Part {
  RaggedTokens ids{};
  std::vector<std::size_t> texts{};  // their numbers
  std::vector<std::size_t> rows{};   // where each begins
};

Part part_of(const RaggedTokens& texts, const Batch& batch) {
  Part part;
  std::size_t row = 0;
  for (std::size_t n = batch.begin; n < batch.end; ++n) {
    if (!texts[n].empty()) {
      part.ids.push_back(texts[n]);
      part.texts.push_back(n);
      part.rows.push_back(row);
      row += texts[n].size();
    }
  }
  return part;
}

std::size_t layers_until(const TextModel& model,
                         std::span<const std::size_t> layers) {
  return layers.empty() ? model.shape().num_layers : layers.back() + 1;
}

Status run_part(const TextModel& model, const Part& part, const TextsPass& pass,
                const Executor& executor, SeeTextLayer see) {
  const auto see_inputs = [&](HookPlace at, const HookedHeads& heads) {
    const bool wanted =
        pass.layers.empty() ||
        std::ranges::find(pass.layers, at.layer) != pass.layers.end();
    const auto see_text = [&](std::size_t row, const HookedHeads& of_text) {
      const auto text = std::ranges::find(part.rows, at.first_row + row);
      const auto n = static_cast<std::size_t>(text - part.rows.begin());
      return see({part.texts[n], at.layer, of_text.query, of_text.key,
                  of_text.options});
    };
    return wanted ? for_each_text(heads, see_text) : ok();
  };
  return model.run(part.ids, {.before_layer = layers_until(model, pass.layers),
                              .hooks = {.see_inputs = see_inputs},
                              .executor = &executor});
}

}  // namespace

Status visit_text_layers(const TextModel& model, const RaggedTokens& texts,
                         const TextsPass& pass, SeeTextLayer see) {
  const Executor& executor =
      pass.executor == nullptr ? Executor::default_executor() : *pass.executor;
  const std::vector<Batch> batches = batches_of(texts);
  SharedProgress progress(
      pass.progress, static_cast<std::size_t>(std::ranges::count_if(
                         texts, [](const auto& ids) { return !ids.empty(); })));
  return run_batches(batches.size(), executor,
                     [&](std::size_t n, const Executor& own) -> Status {
                       const Part part = part_of(texts, batches[n]);
                       if (!part.ids.empty()) {
                         HEADWISE_TRY(run_part(model, part, pass, own, see));
                       }
                       progress.add(part.ids.size());
                       return ok();
                     });
}

Result<Tensor<bool, 1>> separators_in(const TextModel& model,
                                      std::span<const TokenId> ids) {
  HEADWISE_ASSIGN(auto separators, Tensor<bool, 1>::create({ids.size()}));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    separators(t) = is_separator(model.token(ids[t]));
  }
  return separators;
}

}  // namespace headwise::inline HEADWISE_ABI
