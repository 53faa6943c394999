#include <limits>

#include "base/out_of_memory.h"
#include "heads/numbered_heads.h"
#include "heads/pooled_heads.h"
#include "heads/text_layers.h"
#include "headwise/heads/find_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using StatisticsByText = std::vector<double>;

}  // namespace

Result<std::vector<AveragedHead>> statistics_over_texts(
    const TextModel& model, const RaggedTokens& texts,
    const TextsPass& pass) try {
  const NumberedHeads heads(model, pass.layers);
  std::vector<std::array<StatisticsByText, kStatistics>> values(heads.size());
  for (auto& of_head : values) {
    of_head.fill(StatisticsByText(texts.size(),
                                  std::numeric_limits<double>::quiet_NaN()));
  }
  const auto see = [&](const TextLayer& at) -> Status {
    HEADWISE_ASSIGN(const auto separators,
                    separators_in(model, texts[at.text]));
    HEADWISE_ASSIGN(const auto pooled,
                    known_statistics(at.query, at.key,
                                     as_batch_of_one(separators), at.options));
    for (std::size_t h = 0; h < pooled.rows.size(); ++h) {
      auto& of_head = values[heads.first_of(at.layer) + h];
      for (std::size_t k = 0; k < kStatistics; ++k) {
        of_head[k][at.text] = static_cast<double>(pooled.means(h, k));
      }
    }
    return ok();
  };
  HEADWISE_TRY(visit_text_layers(model, texts, pass, see));
  std::vector<AveragedHead> averaged;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    AveragedHead& head = averaged.emplace_back();
    head.layer = heads[n].layer;
    head.head = heads[n].head;
    for (std::size_t k = 0; k < kStatistics; ++k) {
      head.means[k] = mean_interval(values[n][k]);
    }
  }
  return averaged;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
