#include <array>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/pattern_keys.h"
#include "heads/pooled_heads.h"
#include "heads/uniform_score.h"
#include "heads/weight_tiles.h"
#include "headwise/heads/find_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::optional<Statistic> statistic_of(HeadPattern pattern) {
  switch (pattern) {
    case HeadPattern::previous:
      return Statistic::previous;
    case HeadPattern::next:
      return Statistic::next;
    case HeadPattern::self:
      return Statistic::self;
    case HeadPattern::first:
      return Statistic::first;
    case HeadPattern::separator:
      return Statistic::separator;
    default:
      return std::nullopt;
  }
}

Result<std::vector<double>> means_of(Statistic statistic,
                                     const PatternText& text,
                                     TensorView<const float, 4> query,
                                     TensorView<const float, 4> key,
                                     const AttentionOptions& options) {
  TensorView<const bool, 2> separators;
  if (!text.separators.empty()) {
    separators = {text.separators.data(), {1, text.separators.size()}};
  }
  HEADWISE_ASSIGN(const auto pooled,
                  pooled_statistics(query, key, separators, options));
  std::vector<double> means;
  for (std::size_t h = 0; h < query.extent(2); ++h) {
    means.push_back(static_cast<double>(pooled.mean(h, statistic)));
  }
  return means;
}

Result<std::vector<double>> shares_of(const PatternKeys& keys,
                                      TensorView<const float, 4> query,
                                      TensorView<const float, 4> key,
                                      const AttentionOptions& options) {
  std::vector<double> sums(query.extent(2));
  std::size_t next = 0;  // of keys.queries()
  const auto see = [&](std::size_t first,
                       TensorView<const float, 4> weights) -> Status {
    const std::size_t end = first + weights.extent(2);
    for (; next < keys.queries().size() && keys.queries()[next] < end; ++next) {
      const std::size_t i = keys.queries()[next];
      for (std::size_t h = 0; h < sums.size(); ++h) {
        keys.visit(i, [&](std::size_t j) {
          sums[h] += static_cast<double>(weights(0, h, i - first, j));
        });
      }
    }
    return ok();
  };
  HEADWISE_TRY(for_weight_rows({query, key, options, {}}, see));
  for (double& sum : sums) {
    sum /= static_cast<double>(keys.queries().size());
  }
  return sums;
}

Status check_text(const PatternText& text, TensorView<const float, 4> query) {
  const std::array expected = {query.extent(1)};
  HEADWISE_TRY(check_shape("pattern_scores", "ids", std::array{text.ids.size()},
                           "(L)", expected));
  return text.separators.empty()
             ? ok()
             : check_shape("pattern_scores", "separators",
                           std::array{text.separators.size()}, "(L)", expected);
}

}  // namespace

Result<std::vector<double>> pattern_scores(
    HeadPattern pattern, const PatternText& text,
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    bool causal, const AttentionOptions& options) try {
  if (pattern == HeadPattern::positional) {
    return value_error("pattern_scores", "pattern", "positional",
                       "a pattern that one text defines",
                       ErrorCode::invalid_argument);
  }
  HEADWISE_TRY(check_text(text, query));
  const PatternKeys keys(pattern, text, causal);
  if (keys.queries().empty()) {
    return std::vector<double>(query.extent(2),
                               std::numeric_limits<double>::quiet_NaN());
  }
  const std::optional<Statistic> statistic = statistic_of(pattern);
  return statistic ? means_of(*statistic, text, query, key, options)
                   : shares_of(keys, query, key, options);
} catch (...) {
  return caught_out_of_memory();
}

double uniform_score(HeadPattern pattern, const PatternText& text,
                     bool causal) {
  if (pattern == HeadPattern::positional) {
    return 0;
  }
  const PatternKeys keys(pattern, text, causal);
  double sum = 0;
  for (const std::size_t i : keys.queries()) {
    std::size_t found = 0;
    keys.visit(i, [&](std::size_t) { ++found; });
    sum += static_cast<double>(found) / static_cast<double>(keys.visible(i));
  }
  return sum / static_cast<double>(keys.queries().size());
}

}  // namespace headwise::inline HEADWISE_ABI
