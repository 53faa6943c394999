// What each head does over the sentences of a corpus, in groups of sentences
// that can be computed apart.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"

namespace headwise::cli {

struct CorpusSums {
  explicit CorpusSums(std::size_t heads) : statistics(heads) {}

  void add(const CorpusSums& group);
  // All numbers, for a journal or another rank.
  std::vector<double> numbers() const;
  // Only those of numbers(), for as many heads.
  void set_numbers(std::span<const double> numbers);
  static std::size_t count_numbers(std::size_t heads);

  StatisticsSums statistics;
  std::size_t tokens = 0;
  std::size_t empty = 0;  // sentences without a token of their own
  std::size_t cut = 0;    // sentences of which tokens were cut off
};

class CorpusHeads {
 public:
  // All arguments must outlive this object. Heads are those of `layers`, layer
  // by layer.
  CorpusHeads(const SentenceEncoder& model,
              const std::vector<std::size_t>& layers, std::size_t max_tokens,
              const Executor& executor);

  std::size_t heads() const { return heads_; }
  // The sums of one group. Errors: out_of_memory; those of the model.
  Result<CorpusSums> sums_of(std::span<const std::string_view> group,
                             const Progress& progress) const;

 private:
  // By layer that has heads.
  using OfSequence = std::vector<PooledStatistics>;

  Result<std::vector<OfSequence>> statistics_of(const RaggedTokens& ids,
                                                const Executor& executor) const;
  Status add_text(const HookedHeads& heads, const std::vector<TokenId>& ids,
                  OfSequence& into) const;

  const SentenceEncoder& model_;
  const std::vector<std::size_t>& layers_;
  std::size_t max_tokens_;
  const Executor& executor_;
  std::vector<bool> is_separator_;  // by id
  std::size_t heads_ = 0;
};

}  // namespace headwise::cli
