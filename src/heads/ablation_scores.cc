// What the outputs of ablated models are scored by.
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/ablation.h"
#include "headwise/module/loss.h"

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

// Of one text, whose logits begin at `row`.
Status add_next_tokens(const std::vector<TokenId>& text,
                       TensorView<const float, 2> logits, std::size_t row,
                       ExampleScores& scores) {
  if (text.size() < 2) {
    scores.loss.push_back(kNaN);
    scores.correct.push_back(kNaN);
    return ok();
  }
  const std::size_t next = text.size() - 1;
  const auto loss = cross_entropy({&logits(row, 0), {next, logits.extent(1)}},
                                  {text.data() + 1, {next}});
  HEADWISE_TRY(loss);
  std::size_t right = 0;
  for (std::size_t t = 0; t < next; ++t) {
    right += predicted_label(logits, row + t) ==
                     static_cast<std::size_t>(text[t + 1])
                 ? 1
                 : 0;
  }
  scores.loss.push_back(loss->loss);
  scores.correct.push_back(static_cast<double>(right) /
                           static_cast<double>(next));
  return ok();
}

}  // namespace

ScoreExamples label_scores(const HookedModel& classifier,
                           const std::vector<std::int64_t>& targets) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      const std::size_t end = batch.begin + batch.ids.size();
      if (end > targets.size()) {
        return argument_error(
            "label_scores", "targets",
            "has " + std::to_string(targets.size()) + " targets",
            "at least " + std::to_string(end), ErrorCode::shape_mismatch);
      }
      const auto logits = classifier.outputs(batch.ids, batch.hidden);
      HEADWISE_TRY(logits);
      ExampleScores scores;
      for (std::size_t n = 0; n < batch.ids.size(); ++n) {
        const std::int64_t target = targets[batch.begin + n];
        const auto loss = cross_entropy(
            {&(*logits)(n, 0), {1, logits->extent(1)}}, {&target, {1}});
        HEADWISE_TRY(loss);
        scores.loss.push_back(loss->loss);
        scores.correct.push_back(predicted_label(logits->view(), n) ==
                                         static_cast<std::size_t>(target)
                                     ? 1
                                     : 0);
      }
      return scores;
    });
  };
}

ScoreExamples next_token_losses(const CausalModel& model) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      const auto logits = model.unembed(batch.hidden);
      HEADWISE_TRY(logits);
      ExampleScores scores;
      std::size_t row = 0;
      for (const auto& text : batch.ids) {
        HEADWISE_TRY(add_next_tokens(text, logits->view(), row, scores));
        row += text.size();
      }
      return scores;
    });
  };
}

ScoreExamples output_distances(const HookedModel& model) {
  return [&](const ScoredBatch& batch) {
    return catching_out_of_memory([&]() -> Result<ExampleScores> {
      const auto outputs = model.outputs(batch.ids, batch.hidden);
      HEADWISE_TRY(outputs);
      const auto whole = model.outputs(batch.ids, batch.whole);
      HEADWISE_TRY(whole);
      ExampleScores scores;
      for (std::size_t n = 0; n < batch.ids.size(); ++n) {
        scores.loss.push_back(relative_distance(*outputs, *whole, n));
      }
      return scores;
    });
  };
}

}  // namespace headwise::inline HEADWISE_ABI
