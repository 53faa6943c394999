// What the outputs of ablated models are scored by.
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/ablation.h"
#include "headwise/module/optimizer.h"
#include "headwise/train/next_token.h"
#include "train/next_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// |a - b| / |b|
double relative_distance(const Tensor<float, 2>& a, const Tensor<float, 2>& b,
                         std::size_t row) {
  double moved = 0;
  double length = 0;
  for (std::size_t e = 0; e < a.extent(1); ++e) {
    const auto from = static_cast<double>(b(row, e));
    const double by = static_cast<double>(a(row, e)) - from;
    moved += by * by;
    length += from * from;
  }
  return length > 0 ? std::sqrt(moved / length) : kNaN;
}

double share(std::size_t part, std::size_t of) {
  return of == 0 ? kNaN : static_cast<double>(part) / static_cast<double>(of);
}

void add_score(const NextTokenScore& score, ExampleScores& scores) {
  scores.loss.push_back(score.tokens == 0 ? kNaN : score.loss);
  scores.correct.push_back(share(score.right_tokens, score.tokens));
  scores.loss_on_repeats.push_back(score.repeats == 0 ? kNaN
                                                      : score.loss_on_repeats);
  scores.correct_on_repeats.push_back(
      share(score.right_repeats, score.repeats));
}

}  // namespace

ScoreExamples label_scores(const HookedModel& classifier,
                           const std::vector<std::int64_t>& targets) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      const std::size_t end = batch.begin + batch.ids.size();
      if (end > targets.size()) {
        return argument_error("label_scores", "targets",
                              message("has {} targets", targets.size()),
                              message("at least {}", end),
                              ErrorCode::shape_mismatch);
      }
      HEADWISE_ASSIGN(
          const auto logits,
          classifier.outputs(batch.ids, batch.hidden, batch.executor));
      ExampleScores scores;
      for (std::size_t n = 0; n < batch.ids.size(); ++n) {
        const std::int64_t target = targets[batch.begin + n];
        HEADWISE_ASSIGN(const auto loss,
                        cross_entropy({&logits(n, 0), {1, logits.extent(1)}},
                                      {&target, {1}}));
        scores.loss.push_back(loss.loss);
        scores.correct.push_back(predicted_label(logits.view(), n) ==
                                         static_cast<std::size_t>(target)
                                     ? 1
                                     : 0);
      }
      return scores;
    });
  };
}

ScoreExamples next_token_losses(const LanguageModel& model) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      HEADWISE_ASSIGN(const auto logits,
                      model.unembed(batch.hidden, batch.executor));
      ExampleScores scores;
      std::size_t row = 0;
      for (const auto& text : batch.ids) {
        const std::size_t vocab_size = logits.extent(1);
        HEADWISE_ASSIGN(
            const auto score,
            next_token_score(text, {logits.data() + row * vocab_size,
                                    {text.size(), vocab_size}}));
        add_score(score, scores);
        row += text.size();
      }
      return scores;
    });
  };
}

ScoreExamples output_distances(const HookedModel& model) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      HEADWISE_ASSIGN(const auto outputs,
                      model.outputs(batch.ids, batch.hidden, batch.executor));
      HEADWISE_ASSIGN(const auto whole,
                      model.outputs(batch.ids, batch.whole, batch.executor));
      ExampleScores scores;
      for (std::size_t n = 0; n < batch.ids.size(); ++n) {
        scores.loss.push_back(relative_distance(outputs, whole, n));
      }
      return scores;
    });
  };
}

}  // namespace headwise::inline HEADWISE_ABI
