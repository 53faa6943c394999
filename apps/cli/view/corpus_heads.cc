#include "corpus_heads.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "headwise/attention/statistics.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/each_text.h"
#include "headwise/models/special_tokens.h"
#include "kept_heads.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kCounts = 3;  // tokens, empty, cut

// The most tokens of the sentences that go through the layers together: their
// hidden states then stay in the caches.
constexpr std::size_t kMostTokens = 512;

std::vector<RaggedTokens> parts_of(RaggedTokens ids) {
  std::vector<RaggedTokens> parts;
  std::size_t held = 0;
  for (auto& sentence : ids) {
    if (parts.empty() || held + sentence.size() > kMostTokens) {
      parts.emplace_back();
      held = 0;
    }
    held += sentence.size();
    parts.back().push_back(std::move(sentence));
  }
  return parts;
}

// Statistics of one sequence; only of queries and keys.
Result<PooledStatistics> pooled_of(TensorView<const float, 4> query,
                                   TensorView<const float, 4> key,
                                   TensorView<const bool, 2> separators,
                                   const AttentionOptions& options) {
  HEADWISE_ASSIGN(
      auto done,
      attention_statistics(
          query, key,
          TensorView<const float, 4>(nullptr, without_features(key.extents())),
          {.output = TensorView<float, 4>(nullptr,
                                          without_features(query.extents()))},
          options, {.statistics = {.rows = true, .separators = separators}}));
  return std::move(done.pooled);
}

}  // namespace

// ---- Sums. ----

void CorpusSums::add(const CorpusSums& group) {
  statistics.add(group.statistics);
  tokens += group.tokens;
  empty += group.empty;
  cut += group.cut;
}

std::vector<double> CorpusSums::numbers() const {
  const auto values = statistics.values();
  std::vector<double> all(values.begin(), values.end());
  for (const std::size_t count : {tokens, empty, cut}) {
    all.push_back(static_cast<double>(count));
  }
  return all;
}

void CorpusSums::set_numbers(std::span<const double> numbers) {
  const auto values = statistics.values();
  std::ranges::copy(numbers.first(values.size()), values.begin());
  const auto counts = numbers.last(kCounts);
  tokens = static_cast<std::size_t>(counts[0]);
  empty = static_cast<std::size_t>(counts[1]);
  cut = static_cast<std::size_t>(counts[2]);
}

std::size_t CorpusSums::count_numbers(std::size_t heads) {
  return CorpusSums(heads).numbers().size();
}

// ---- A group. ----

CorpusHeads::CorpusHeads(const SentenceEncoder& model,
                         const std::vector<std::size_t>& layers,
                         std::size_t max_tokens, const Executor& executor)
    : model_(model),
      layers_(layers),
      max_tokens_(max_tokens),
      executor_(executor) {
  for (std::size_t id = 0; id < model.tokenizer().vocab_size(); ++id) {
    is_separator_.push_back(is_separator(
        model.tokenizer().token(static_cast<TokenId>(id)).value_or("")));
  }
  for (const std::size_t layer : layers) {
    heads_ += kept_heads(model.encoder(), layer).numbers().size();
  }
}

Status CorpusHeads::add_text(const HookedHeads& heads,
                             const std::vector<TokenId>& ids,
                             OfSequence& into) const {
  HEADWISE_ASSIGN(auto separators, Tensor<bool, 2>::create({1, ids.size()}));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    separators(0, t) = is_separator_[static_cast<std::size_t>(ids[t])];
  }
  HEADWISE_ASSIGN(auto pooled,
                  pooled_of(heads.query, heads.key, separators, heads.options));
  into.push_back(std::move(pooled));
  return ok();
}

Result<std::vector<CorpusHeads::OfSequence>> CorpusHeads::statistics_of(
    const RaggedTokens& ids, const Executor& executor) const {
  std::vector<OfSequence> sequences(ids.size());
  ModelPass options;
  options.before_layer = layers_.back() + 1;
  options.executor = &executor;
  std::vector<std::size_t> rows = {0};  // where each sequence begins
  for (const auto& sequence : ids) {
    rows.push_back(rows.back() + sequence.size());
  }
  options.hooks.see_inputs = [&](HookPlace at, const HookedHeads& heads) {
    const bool wanted = std::ranges::find(layers_, at.layer) != layers_.end();
    const auto see = [&](std::size_t row, const HookedHeads& of_text) {
      const auto next = std::ranges::upper_bound(rows, at.first_row + row);
      const auto n = static_cast<std::size_t>(next - rows.begin()) - 1;
      return add_text(of_text, ids[n], sequences[n]);
    };
    return wanted ? for_each_text(heads, see) : ok();
  };
  HEADWISE_ASSIGN(const auto done, model_.encoder().hidden(ids, options));
  return sequences;
}

Result<CorpusSums> CorpusHeads::sums_of(std::span<const std::string_view> group,
                                        const Progress& progress) const {
  auto tokens = model_.tokenize(
      group, {.max_tokens = max_tokens_, .executor = &executor_});
  const auto alone = Executor::with_threads(1);
  HEADWISE_TRY(tokens);
  HEADWISE_TRY(alone);
  CorpusSums sums(heads_);
  for (std::size_t n = 0; n < group.size(); ++n) {
    constexpr std::size_t kSpecialTokens = 2;
    const std::size_t count = tokens->ids[n].size();
    sums.tokens += count;
    sums.empty += count <= kSpecialTokens && tokens->cut[n] == 0 ? 1 : 0;
    sums.cut += tokens->cut[n] != 0 ? 1 : 0;
  }
  const std::vector<RaggedTokens> parts = parts_of(std::move(tokens->ids));
  std::vector<std::vector<OfSequence>> found(parts.size());
  std::vector<Status> said(parts.size(), ok());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t finished = 0;
  executor_.run_workers(
      std::min(executor_.threads(), parts.size()), [&](std::size_t) {
        for (std::size_t n = next++; n < parts.size(); n = next++) {
          auto done = statistics_of(parts[n], *alone);
          said[n] = done ? ok() : Status(done.error());
          const std::scoped_lock lock(mutex);
          finished += parts[n].size();
          if (done) {
            found[n] = *std::move(done);
          }
          if (progress) {
            progress(finished, group.size());
          }
        }
      });
  for (std::size_t n = 0; n < parts.size(); ++n) {
    HEADWISE_TRY(said[n]);
    for (const OfSequence& sequence : found[n]) {
      std::size_t first_head = 0;
      for (const PooledStatistics& layer : sequence) {
        sums.statistics.add(first_head, layer);
        first_head += layer.rows.size();
      }
    }
  }
  return sums;
}

}  // namespace headwise::cli
