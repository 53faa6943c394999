#include "headwise/heads/find_heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/out_of_memory.h"
#include "heads/numbered_heads.h"
#include "heads/offset_profile.h"
#include "heads/text_layers.h"
#include "heads/uniform_score.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

using ScoresByText = std::vector<double>;

// For each head, its scores in the texts; NaN where the pattern does not apply.
Result<std::vector<ScoresByText>> scores_of(const TextModel& model,
                                            const RaggedTokens& texts,
                                            const NumberedHeads& heads,
                                            HeadPattern pattern,
                                            const TextsPass& pass) {
  std::vector<ScoresByText> scores(heads.size(),
                                   ScoresByText(texts.size(), kNoScore));
  const auto see = [&](const TextLayer& at) -> Status {
    HEADWISE_ASSIGN(const auto separators,
                    separators_in(model, texts[at.text]));
    HEADWISE_ASSIGN(
        const auto of_layer,
        pattern_scores(
            pattern,
            {.ids = texts[at.text], .separators = separators.elements()},
            at.query, at.key, model.shape().causal, at.options));
    for (std::size_t h = 0; h < of_layer.size(); ++h) {
      scores[heads.first_of(at.layer) + h][at.text] = of_layer[h];
    }
    return ok();
  };
  HEADWISE_TRY(visit_text_layers(model, texts, pass, see));
  return scores;
}

Result<std::vector<ScoresByText>> positional_scores_of(
    const TextModel& model, const RaggedTokens& texts,
    const NumberedHeads& heads, const TextsPass& pass) {
  std::vector<std::vector<OffsetProfile>> profiles(
      heads.size(), std::vector<OffsetProfile>(texts.size()));
  const auto see = [&](const TextLayer& at) -> Status {
    HEADWISE_ASSIGN(
        const auto of_layer,
        offset_profiles(at.query, at.key, model.shape().causal, at.options));
    for (std::size_t h = 0; h < of_layer.size(); ++h) {
      profiles[heads.first_of(at.layer) + h][at.text] = of_layer[h];
    }
    return ok();
  };
  HEADWISE_TRY(visit_text_layers(model, texts, pass, see));
  std::vector<ScoresByText> scores;
  for (const auto& of_head : profiles) {
    scores.push_back(positional_scores(of_head));
  }
  return scores;
}

// Over the texts that the pattern applies to.
Result<MeanInterval> uniform_of(const TextModel& model,
                                const RaggedTokens& texts,
                                HeadPattern pattern) {
  ScoresByText scores;
  for (const auto& ids : texts) {
    if (ids.empty()) {
      continue;
    }
    HEADWISE_ASSIGN(const auto separators, separators_in(model, ids));
    scores.push_back(uniform_score(
        pattern, {.ids = ids, .separators = separators.elements()},
        model.shape().causal));
  }
  if (pattern == HeadPattern::positional && scores.size() < 2) {
    scores.clear();
  }
  return mean_interval(scores);
}

// The texts' scores for positional all depend on the others' mean, so they have
// no interval of Student's.
MeanInterval mean_of(HeadPattern pattern, const ScoresByText& scores) {
  MeanInterval mean = mean_interval(scores);
  if (pattern == HeadPattern::positional) {
    mean.low = kNoScore;
    mean.high = kNoScore;
  }
  return mean;
}

}  // namespace

Result<FoundHeads> find_heads(const TextModel& model, const RaggedTokens& texts,
                              HeadPattern pattern, const TextsPass& pass) try {
  const NumberedHeads heads(model, pass.layers);
  HEADWISE_ASSIGN(const auto scores,
                  pattern == HeadPattern::positional
                      ? positional_scores_of(model, texts, heads, pass)
                      : scores_of(model, texts, heads, pattern, pass));
  HEADWISE_ASSIGN(const auto uniform, uniform_of(model, texts, pattern));
  FoundHeads found;
  found.uniform = uniform.mean;
  found.texts = uniform.count;
  found.left_out = texts.size() - found.texts;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    const auto [layer, head] = heads[n];
    found.heads.push_back({layer, head, mean_of(pattern, scores[n])});
  }
  std::ranges::stable_sort(
      found.heads, std::ranges::greater(), [](const FoundHead& of) {
        return std::isnan(of.score.mean) ? -1 : of.score.mean;
      });
  return found;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
