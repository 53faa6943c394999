// A model without some of its heads: the context of an ablated head is replaced
// before the output projection, in every token, by
//
//   zero     0, as head gates of 0 do
//   mean     its mean over all tokens of all examples, with all heads
//   uniform  the mean of the values that its token may attend to: attention
//            with equal weights
//
// Sets of heads that are ablated together share the layers before the first
// ablated head, and so do sets that begin with the same heads: each head of a
// model in turn takes about half the layers of as many forward passes.
//
// Effects are differences, ablated minus whole, paired by example, with 95%
// confidence intervals over the examples.
//
// Errors: those of the model and of the scores; invalid_argument for a set
// without heads or with a head twice, or for more than 50 million scores, one
// of each example with each set; out_of_range for a head that the model does
// not have; out_of_memory. No bit depends on threads.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650 (zero); Wang et al.
// 2022, arXiv:2211.00593 (mean).
//
// Example:
//   AblationTask task{*model, ids, label_scores(*model, targets)};
//   auto scores = ablate(task, {{{3, 1}}, {{3, 1}, {4, 5}}}).value();
//   effect_of(scores.whole, scores.ablated[0]).loss.mean;
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/heads/mean_interval.h"
#include "headwise/module/head_hooks.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Replacement { zero, mean, uniform };
// In the order of the enum.
inline constexpr std::array<std::string_view, 3> kReplacementNames = {
    "zero", "mean", "uniform"};
constexpr std::string_view name_of(Replacement replacement) {
  return kReplacementNames[static_cast<std::size_t>(replacement)];
}
constexpr std::optional<Replacement> replacement(std::string_view name) {
  const auto found = std::ranges::find(kReplacementNames, name);
  return found == kReplacementNames.end()
             ? std::optional<Replacement>()
             : static_cast<Replacement>(found - kReplacementNames.begin());
}

struct ExampleScores {
  std::vector<double> loss;
  // 1 if the prediction is right, 0 if not; or a share. Empty without labels.
  std::vector<double> correct;
  // Of a causal model: the same of repeated tokens alone; NaN for a text
  // without any. Otherwise empty.
  std::vector<double> loss_on_repeats{};
  std::vector<double> correct_on_repeats{};
};

// Examples [begin, begin + ids.size()) of a model, and their last hidden states
// (rows, hidden_size).
struct ScoredBatch {
  std::size_t begin;
  const RaggedTokens& ids;
  TensorView<const float, 2> hidden;
  TensorView<const float, 2> whole;    // with all heads
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};
using ScoreExamples =
    std::function<Result<ExampleScores>(const ScoredBatch& batch)>;

// The cross-entropy of each example's label, and whether it is predicted. The
// model's outputs are logits; both arguments must outlive the function. Errors:
// those of cross_entropy(); shape_mismatch for a missing target.
ScoreExamples label_scores(const HookedModel& classifier,
                           const std::vector<std::int64_t>& targets);
// |e - e_0| / |e_0|, from the outputs e with the heads ablated and e_0 with all
// heads; NaN where e_0 is 0.
ScoreExamples output_distances(const HookedModel& model);

// For each text the mean over its tokens but the first of -ln p(token | the
// tokens before it), and the share of them that have the largest logit; both
// also of repeats alone (NextTokenScore). NaN for a text without such tokens.
ScoreExamples next_token_losses(const LanguageModel& model);

struct AblationTask {
  const HookedModel& model;
  const RaggedTokens& ids;  // of the examples
  ScoreExamples scores;
};

struct AblationOptions {
  Replacement replacement = Replacement::zero;
  // Counts examples, twice for `mean`; called by one thread at a time, but not
  // always the same.
  Progress progress{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct AblationScores {
  ExampleScores whole;
  std::vector<ExampleScores> ablated;  // one for each set
};

using HeadSet = std::vector<HeadId>;
Result<AblationScores> ablate(const AblationTask& task,
                              const std::vector<HeadSet>& sets,
                              const AblationOptions& options = {});

struct AblationEffect {
  MeanInterval loss;
  std::optional<MeanInterval> accuracy;  // of labels or next tokens
  // Of next tokens that are repeats.
  std::optional<MeanInterval> loss_on_repeats{};
  std::optional<MeanInterval> accuracy_on_repeats{};
};
AblationEffect effect_of(const ExampleScores& whole,
                         const ExampleScores& ablated);
// The effect of both minus that of each: 0 if effects add up.
AblationEffect interaction_of(const ExampleScores& whole,
                              const ExampleScores& first,
                              const ExampleScores& second,
                              const ExampleScores& both);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
