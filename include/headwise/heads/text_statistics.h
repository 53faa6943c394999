// The statistics of heads (attention/statistics.h), averaged over texts. A text
// counts once, whatever its length, so the interval is over texts like it; a
// mean over all tokens is inspect/statistics_sums.h.
//
// Example:
//   auto heads = statistics_over_texts(model, texts).value();
//   heads[0].of(Statistic::entropy).mean;
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/heads/mean_interval.h"
#include "headwise/heads/text_layers.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct AveragedHead {
  std::size_t layer = 0;
  std::size_t head = 0;  // its number before pruning
  std::array<MeanInterval, kStatistics> means{};

  const MeanInterval& of(Statistic statistic) const {
    return means[index_of(statistic)];
  }
};

// All heads of the layers of `pass`, in their order. Texts without tokens are
// left out, as is a share that no head can have (leave_out_unknown() in
// inspect/position_statistics.h). The bits do not depend on the threads.
// Errors: those of visit_text_layers() and attention_statistics().
Result<std::vector<AveragedHead>> statistics_over_texts(
    const TextModel& model, const RaggedTokens& texts,
    const TextsPass& pass = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
