// Losses of next tokens under gates, against the same model in double.
#include <cmath>
#include <vector>

#include "headwise/prune/sentence_importance.h"
#include "models/causal_reference.h"
#include "models/gate_rows.h"
#include "models/small_causal.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Rows = CausalReference::Rows;

const RaggedTokens kTexts = {{5, 6, 8, 5, 6}, {9}, {13, 12, 11, 10}, {7, 7}};

class LanguageLossesTest : public testing::Test {
 protected:
  // The mean over the tokens but the first.
  double loss_in_double(std::size_t text, const Rows& gates) const {
    const auto& ids = kTexts[text];
    double loss = 0;
    const Rows logits = reference_.logits(ids, gates);
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
      double sum = 0;
      for (const double logit : logits[t]) {
        sum += std::exp(logit);
      }
      loss += std::log(sum) - logits[t][static_cast<std::size_t>(ids[t + 1])];
    }
    return loss / static_cast<double>(ids.size() - 1);
  }

  Rows gates_ = {{1, 0.5, 0}, {-1, 1, 2}};
  CausalReference reference_{small_causal_transformer()};
  SentenceEncoder model_ =
      SentenceEncoder::create(small_causal_transformer(), small_words())
          .value();
};

TEST_F(LanguageLossesTest, AreThoseOfEachText) {
  const GatedModel model = language_losses(model_, kTexts);
  EXPECT_EQ(model.examples, 4u);
  const auto gates = gates_of(gates_);
  const auto losses = model.losses(0, 4, gates).value();
  const auto gradients = model.gradients(0, 4, gates).value();
  ASSERT_EQ(losses.size(), 4u);
  constexpr double kStep = 1e-5;
  for (std::size_t x = 0; x < 4; ++x) {
    const bool has_next = kTexts[x].size() > 1;
    EXPECT_NEAR(losses[x], has_next ? loss_in_double(x, gates_) : 0, 1e-5);
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t h = 0; h < 3; ++h) {
        Rows more = gates_;
        Rows less = gates_;
        more[n][h] += kStep;
        less[n][h] -= kStep;
        const double slope =
            has_next ? (loss_in_double(x, more) - loss_in_double(x, less)) /
                           (2 * kStep)
                     : 0;
        EXPECT_NEAR(gradients[n](x, h), slope, 1e-5) << x << " " << n << h;
      }
    }
  }
}

TEST_F(LanguageLossesTest, ATextHasTheSameBitsInAnyBatchOnAnyThreads) {
  const Executor three = Executor::with_threads(3).value();
  const auto gates = gates_of(gates_);
  const GatedModel model = language_losses(model_, kTexts);
  const GatedModel other = language_losses(model_, kTexts, three);
  const auto all = model.gradients(0, 4, gates).value();
  const auto one = other.gradients(2, 3, gates).value();
  EXPECT_TRUE(
      same_bits(one[1].elements(), all[1].elements().subspan(2 * 3, 3)));
  EXPECT_EQ(other.losses(2, 3, gates).value()[0],
            model.losses(0, 4, gates).value()[2]);
}

}  // namespace
}  // namespace headwise::testing_support
