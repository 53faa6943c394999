#include "headwise/heads/text_layers.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/heads/projected_heads.h"
#include "headwise/heads/special_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The most tokens of the texts that go through the layers together: their
// hidden states then stay in the caches.
constexpr std::size_t kMostTokens = 512;

// Texts that go through the layers together.
struct Part {
  RaggedTokens ids{};
  std::vector<std::size_t> texts{};    // their numbers
  std::vector<std::size_t> lengths{};  // their tokens
  std::size_t tokens = 0;
};

std::vector<Part> parts_of(const RaggedTokens& texts) {
  std::vector<Part> parts;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const std::size_t count = texts[n].size();
    if (count == 0) {
      continue;
    }
    if (parts.empty() || parts.back().tokens + count > kMostTokens) {
      parts.emplace_back();
    }
    Part& part = parts.back();
    part.ids.push_back(texts[n]);
    part.texts.push_back(n);
    part.lengths.push_back(count);
    part.tokens += count;
  }
  return parts;
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
  const auto heads = ProjectedHeads::of(model.attention(layer), hidden,
                                        executor, part.lengths);
  HEADWISE_TRY(heads);
  std::size_t first = 0;
  for (std::size_t n = 0; n < part.texts.size(); ++n) {
    const std::size_t count = part.lengths[n];
    HEADWISE_TRY(see({part.texts[n], layer, heads->query(first, count),
                      heads->key(first, count), executor}));
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
                         const TextsPass& pass, SeeTextLayer see) try {
  const Executor& executor =
      pass.executor == nullptr ? Executor::default_executor() : *pass.executor;
  const auto alone = Executor::with_threads(1);
  HEADWISE_TRY(alone);
  const std::vector<Part> parts = parts_of(texts);
  std::size_t total = 0;
  for (const Part& part : parts) {
    total += part.texts.size();
  }
  std::vector<Status> said(parts.size(), ok());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t finished = 0;
  const auto take_parts = [&](const Executor& own) {
    for (std::size_t n = next++; n < parts.size(); n = next++) {
      said[n] = catching_out_of_memory(
          [&] { return run_part(model, parts[n], pass, own, see); });
      const std::scoped_lock lock(mutex);
      finished += parts[n].texts.size();
      if (pass.progress) {
        pass.progress(finished, total);
      }
    }
  };
  if (parts.size() == 1) {  // all threads in one text
    take_parts(executor);
  } else {
    executor.run_workers(std::min(executor.threads(), parts.size()),
                         [&](std::size_t) { take_parts(*alone); });
  }
  for (const Status& status : said) {
    HEADWISE_TRY(status);
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<bool, 1>> separators_in(const TextModel& model,
                                      std::span<const TokenId> ids) {
  auto separators = Tensor<bool, 1>::create({ids.size()});
  HEADWISE_TRY(separators);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    (*separators)(t) = is_separator(model.token(ids[t]));
  }
  return separators;
}

}  // namespace headwise::inline HEADWISE_ABI
