// Interventions in a causal model.

#include <cmath>
#include <utility>
#include <vector>

#include "headwise/heads/ablation.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/heads/patching.h"
#include "headwise/models/language_model.h"
#include "headwise/train/next_token.h"
#include "models/small_causal.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kTexts = {{5, 6, 8, 5, 6}, {9}, {13, 12, 11, 10, 9, 8, 7}};

// Of the next tokens of a text, from its logits.
double loss_of(const std::vector<TokenId>& text, const Tensor<float, 2>& logits,
               std::size_t row) {
  double loss = 0;
  for (std::size_t t = 0; t + 1 < text.size(); ++t) {
    double sum = 0;
    for (std::size_t c = 0; c < 14; ++c) {
      sum += std::exp(static_cast<double>(logits(row + t, c)));
    }
    loss +=
        std::log(sum) - static_cast<double>(logits(
                            row + t, static_cast<std::size_t>(text[t + 1])));
  }
  return loss / static_cast<double>(text.size() - 1);
}

TEST(HookedLanguageTest, OutputsAreTheLogitsAfterEachText) {
  const auto owner = small_causal_model();
  const LanguageModel& causal = *owner;
  const auto model = hooked_language(causal);
  EXPECT_TRUE(model->causal());
  const auto hidden = model->hidden(kTexts, {}).value();
  const auto outputs = model->outputs(kTexts, hidden.view(), nullptr).value();
  const auto logits = causal.logits(kTexts).value();
  for (const auto& [n, row] : {std::pair(0u, 4u), {1, 5}, {2, 12}}) {
    EXPECT_TRUE(same_bits({&outputs(n, 0), 14}, {&logits(row, 0), 14}));
  }
}

TEST(HookedLanguageTest, AblatedHeadsHaveTheLossOfGates) {
  const auto owner = small_causal_model();
  const LanguageModel& causal = *owner;
  const auto model = hooked_language(causal);
  const auto scores =
      ablate({*model, kTexts, next_token_losses(causal)}, {{{0, 1}, {1, 2}}})
          .value();
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(filled<float, 1>({3}, 1));
  gates.push_back(filled<float, 1>({3}, 1));
  const auto whole = causal.logits(kTexts).value();
  gates[0](1) = 0;
  gates[1](2) = 0;
  const auto without = causal.logits(kTexts, {.head_gates = gates}).value();
  std::size_t row = 0;
  for (std::size_t n = 0; n < kTexts.size(); ++n) {
    if (kTexts[n].size() < 2) {
      EXPECT_TRUE(std::isnan(scores.whole.loss[n]));
      EXPECT_TRUE(std::isnan(scores.ablated[0].correct[n]));
    } else {
      EXPECT_NEAR(scores.whole.loss[n], loss_of(kTexts[n], whole, row), 1e-9);
      EXPECT_NEAR(scores.ablated[0].loss[n], loss_of(kTexts[n], without, row),
                  1e-9);
    }
    row += kTexts[n].size();
  }
  EXPECT_EQ(effect_of(scores.whole, scores.ablated[0]).loss.count, 2u);
}

TEST(HookedLanguageTest, AccuracyIsTheShareOfNextTokens) {
  const auto owner = small_causal_model();
  const LanguageModel& causal = *owner;
  const auto logits = causal.logits({{5, 6, 8}}).value();
  const auto predicted = [&](std::size_t row) {
    return static_cast<TokenId>(predicted_label(logits.view(), row));
  };
  // The first prediction of this text is right, whatever follows.
  const RaggedTokens ids = {{5, predicted(0), 8}};
  const auto model = hooked_language(causal);
  const auto hidden = model->hidden(ids, {}).value();
  const auto scores =
      next_token_losses(causal)({0, ids, hidden.view(), hidden.view()}).value();
  EXPECT_GE(scores.correct[0], 0.5);
}

TEST(HookedLanguageTest, RepeatsHaveTheScoresOfNextTokenScores) {
  const auto owner = small_causal_model();
  const LanguageModel& causal = *owner;
  const RaggedTokens ids = {{5, 6, 8, 5, 6, 8}, {9, 8}, {7, 7, 7, 7}};
  const auto model = hooked_language(causal);
  const auto scores =
      ablate({*model, ids, next_token_losses(causal)}, {{{0, 1}}}).value();
  const auto want = next_token_scores(causal, ids).value();
  for (const std::size_t n : {0u, 2u}) {
    EXPECT_EQ(scores.whole.loss[n], want[n].loss);
    EXPECT_EQ(scores.whole.loss_on_repeats[n], want[n].loss_on_repeats);
    EXPECT_EQ(scores.whole.correct_on_repeats[n],
              static_cast<double>(want[n].right_repeats) /
                  static_cast<double>(want[n].repeats));
  }
  EXPECT_TRUE(std::isnan(scores.whole.loss_on_repeats[1]));
  EXPECT_TRUE(std::isnan(scores.whole.correct_on_repeats[1]));
  EXPECT_FALSE(std::isnan(scores.whole.correct[1]));
  const AblationEffect effect = effect_of(scores.whole, scores.ablated[0]);
  EXPECT_EQ(effect.accuracy_on_repeats->count, 2u);
  EXPECT_EQ(effect.loss_on_repeats->count, 2u);
  EXPECT_EQ(
      effect.loss_on_repeats->mean,
      (scores.ablated[0].loss_on_repeats[0] - scores.whole.loss_on_repeats[0] +
       scores.ablated[0].loss_on_repeats[2] - scores.whole.loss_on_repeats[2]) /
          2);
}

TEST(HookedLanguageTest, APatchBeforeADifferenceDoesNothing) {
  const auto owner = small_causal_model();
  const LanguageModel& causal = *owner;
  const auto model = hooked_language(causal);
  const PatchTask task{*model, {5, 6, 8, 9, 7}, {5, 6, 11, 9, 7}, log_odds(3)};
  const PatchEffects exact = patch_heads(task).value();
  const PatchEffects fast = approximate_patches(task).value();
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(exact.positions[n](h, i), 0);
        EXPECT_EQ(fast.positions[n](h, i), 0);
      }
      // What the last layer makes of other tokens than the last is not read.
      EXPECT_NEAR(exact.positions[1](h, 3), 0, 1e-12);
      EXPECT_EQ(fast.positions[1](h, 3), 0);
      EXPECT_NEAR(exact.heads[1][h], exact.positions[1](h, 4), 1e-12);
    }
  }
  EXPECT_GT(correlation(exact, fast), 0.5);
}

}  // namespace
}  // namespace headwise::testing_support
