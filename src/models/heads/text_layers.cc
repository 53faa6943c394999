#include "heads/text_layers.h"

#include <algorithm>
#include <vector>

#include "heads/batches.h"
#include "headwise/heads/projected_heads.h"
#include "headwise/models/vocabulary.h"
#include "run/shared_progress.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The texts of a batch that have tokens. They go through the layers together.
struct Part {
  RaggedTokens ids{};
  std::vector<std::size_t> texts{};    // their numbers
  std::vector<std::size_t> lengths{};  // their tokens
};

Part part_of(const RaggedTokens& texts, const Batch& batch) {
  Part part;
  for (std::size_t n = batch.begin; n < batch.end; ++n) {
    if (!texts[n].empty()) {
      part.ids.push_back(texts[n]);
      part.texts.push_back(n);
      part.lengths.push_back(texts[n].size());
    }
  }
  return part;
}

std::size_t layers_until(const TextModel& model,
                         std::span<const std::size_t> layers) {
  return layers.empty() ? model.shape().num_layers : layers.back() + 1;
}

Status see_layer(const TextModel& model, const Part& part, std::size_t layer,
                 TensorView<const float, 3> hidden, const Executor& executor,
                 SeeTextLayer see) {
  if (model.heads_in(layer).empty()) {
    return ok();
  }
  HEADWISE_ASSIGN(const auto heads,
                  ProjectedHeads::of(model.attention(layer), hidden, executor,
                                     part.lengths));
  std::size_t first = 0;
  for (std::size_t n = 0; n < part.texts.size(); ++n) {
    const std::size_t count = part.lengths[n];
    HEADWISE_TRY(see({part.texts[n], layer, heads.query(first, count),
                      heads.key(first, count), executor}));
    first += count;
  }
  return ok();
}

Status run_part(const TextModel& model, const Part& part, const TextsPass& pass,
                const Executor& executor, SeeTextLayer see) {
  return model.run(
      part.ids,
      {.before_layer = layers_until(model, pass.layers),
       .before_each =
           [&](std::size_t layer, TensorView<const float, 3> hidden) {
             const bool wanted =
                 pass.layers.empty() ||
                 std::ranges::find(pass.layers, layer) != pass.layers.end();
             return wanted
                        ? see_layer(model, part, layer, hidden, executor, see)
                        : ok();
           },
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
