#include "headwise/attention/reference.h"

#include <cmath>

#include "attention/attention_call.h"
#include "attention/contract.h"
#include "attention/naive_attention.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using testing::DoubleNear;

// The scores are ln 1, ln 2, ln 5 for query 0 and 0, 0, 0 for query 1.
Inputs<double> by_hand() {
  return {tensor_of<double, 4>({1, 2, 1, 2}, {1, 0, 0, 1}),
          tensor_of<double, 4>({1, 3, 1, 2},
                               {0, 0, std::log(2.0), 0, std::log(5.0), 0}),
          tensor_of<double, 4>({1, 3, 1, 2}, {8, 0, 0, 8, 8, 8})};
}

TEST(ReferenceTest, ASmallCaseGivesTheNumbersComputedByHand) {
  const Outputs<double> out =
      reference(by_hand(), {.scale = 1, .attn_weights = AttnWeights::per_head});
  EXPECT_THAT(out.attn_weights.elements(),
              testing::ElementsAre(
                  DoubleNear(1.0 / 8, 1e-15), DoubleNear(2.0 / 8, 1e-15),
                  DoubleNear(5.0 / 8, 1e-15), DoubleNear(1.0 / 3, 1e-15),
                  DoubleNear(1.0 / 3, 1e-15), DoubleNear(1.0 / 3, 1e-15)));
  // 8 * (1 + 5) / 8, 8 * (2 + 5) / 8; 16 / 3, 16 / 3
  EXPECT_THAT(out.output.elements(),
              testing::ElementsAre(DoubleNear(6, 1e-14), DoubleNear(7, 1e-14),
                                   DoubleNear(16.0 / 3, 1e-14),
                                   DoubleNear(16.0 / 3, 1e-14)));
  EXPECT_NEAR(out.lse(0, 0, 0), std::log(8.0), 1e-15);
  EXPECT_NEAR(out.lse(0, 0, 1), std::log(3.0), 1e-15);
}

TEST(ReferenceTest, ASmallCausalCaseGivesTheNumbersComputedByHand) {
  const Outputs<double> out =
      reference(by_hand(), {.mask = causal(),
                            .scale = 1,
                            .query_start = 1,
                            .attn_weights = AttnWeights::per_head});
  // Query 0 sees keys 0 and 1, query 1 all three.
  EXPECT_THAT(out.attn_weights.elements(),
              testing::ElementsAre(
                  DoubleNear(1.0 / 3, 1e-15), DoubleNear(2.0 / 3, 1e-15), 0,
                  DoubleNear(1.0 / 3, 1e-15), DoubleNear(1.0 / 3, 1e-15),
                  DoubleNear(1.0 / 3, 1e-15)));
  EXPECT_NEAR(out.output(0, 0, 0, 0), 8.0 / 3, 1e-14);
  EXPECT_NEAR(out.output(0, 0, 0, 1), 16.0 / 3, 1e-14);
  EXPECT_NEAR(out.lse(0, 0, 0), std::log(3.0), 1e-15);
}

TEST(ReferenceTest, TheDefaultScaleIsOneByTheRootOfTheHeadSize) {
  // D = 4: scores 0 and 2 ln 3 / 2.
  const Inputs<double> in = {
      tensor_of<double, 4>({1, 1, 1, 4}, {1, 1, 0, 0}),
      tensor_of<double, 4>({1, 2, 1, 4},
                           {0, 0, 0, 0, std::log(3.0), std::log(3.0), 0, 0}),
      tensor_of<double, 4>({1, 2, 1, 1}, {0, 1})};
  EXPECT_NEAR(reference(in).output(0, 0, 0, 0), 0.75, 1e-15);
}

const std::vector<AttentionShape> kShapes = {
    {.B = 2, .Hq = 3, .Hkv = 3, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 8},
    {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 6, .Lkv = 6, .D = 5, .Dv = 3},
    {.B = 1, .Hq = 3, .Hkv = 1, .Lq = 2, .Lkv = 300, .D = 16, .Dv = 20},
    {.B = 3, .Hq = 1, .Hkv = 1, .Lq = 9, .Lkv = 4, .D = 1, .Dv = 1}};

TEST(ReferenceTest, EqualsTheMatrixFormulaForEveryMask) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<double> in = widened(random_inputs(shape, 10));
    const EveryMask every_mask(shape);
    for (const auto& [name, mask] : every_mask.masks()) {
      SCOPED_TRACE(name);
      const auto bound = BoundMask::bind(mask, {shape, 1, "test"}).value();
      const Outputs<double> want = naive_attention(
          in, 0.4,
          [&](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
            return bound.may_attend(b, h, i, j);
          });
      const Outputs<double> got =
          reference(in, {.mask = mask,
                         .scale = 0.4,
                         .query_start = 1,
                         .attn_weights = AttnWeights::per_head});
      EXPECT_TRUE(all_near(got.output, want.output, 1e-13));
      EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 1e-14));
      EXPECT_TRUE(all_near(got.lse, want.lse, 1e-13));
    }
  }
}

TEST(ReferenceTest, EqualsTheMatrixFormulaWithDropout) {
  const AttentionShape shape = kShapes[1];
  const Inputs<double> in = widened(random_inputs(shape, 20));
  const AttentionOptions options = {
      .scale = 0.4,
      .dropout = {.p = 0.3, .training = true, .seed = Seed{5}},
      .attn_weights = AttnWeights::after_dropout};
  const auto dropout =
      BoundDropout::bind(options.dropout, {shape, {}, "test"}).value();
  const auto factor = [&](std::size_t b, std::size_t h, std::size_t i,
                          std::size_t j) {
    return dropout.keeps(b, h, i, j) ? 1 / 0.7 : 0;
  };
  const Outputs<double> want = naive_attention(
      in, 0.4, [](auto...) { return true; }, factor);
  const Outputs<double> got = reference(in, options);
  EXPECT_TRUE(all_near(got.output, want.output, 1e-13));
  EXPECT_TRUE(all_near(got.lse, want.lse, 1e-13));
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          EXPECT_NEAR(got.attn_weights(b, h, i, j),
                      want.attn_weights(b, h, i, j) * factor(b, h, i, j),
                      1e-14);
        }
      }
    }
  }
}

TEST(ReferenceTest, EqualsTheMatrixFormulaWithSoftcapBiasesAndAlibi) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<double> in = widened(random_inputs(shape, 25));
    const EveryBias every(shape);
    const auto slopes = every.slopes();
    const T5Bias t5 = every.t5_bias(true);
    const auto bias = uniform<3>({shape.Hq, shape.Lq, shape.Lkv}, 26, -3, 3);
    const Outputs<double> want = naive_attention(
        in, 0.4,
        [](std::size_t, std::size_t, std::size_t i, std::size_t j) {
          return j % 3 != 1 || i % 2 == 0;
        },
        [](auto...) { return 1.0; },
        [&](double score, std::size_t, std::size_t h, std::size_t i,
            std::size_t j) {
          const double distance =
              std::abs(static_cast<double>(i) + 2 - static_cast<double>(j));
          const std::size_t bucket =
              contract_bucket(t5, static_cast<std::int64_t>(j) -
                                      static_cast<std::int64_t>(i + 2));
          return 1.3 * std::tanh(score / 1.3) + double{bias(h, i, j)} +
                 double{t5.table(bucket, h)} - double{slopes(h)} * distance;
        });
    auto masking = bias.clone().value();
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      for (std::size_t i = 1; i < shape.Lq; i += 2) {
        for (std::size_t j = 1; j < shape.Lkv; j += 3) {
          masking(h, i, j) = kMinusInf;
        }
      }
    }
    const Outputs<double> got = reference(
        in, {.scale = 0.4,
             .softcap = 1.3,
             .bias = dense(view_of(masking), {Axis::H, Axis::Lq, Axis::Lkv}),
             .t5_bias = t5,
             .alibi = slopes,
             .query_start = 2,
             .attn_weights = AttnWeights::per_head});
    EXPECT_TRUE(all_near(got.output, want.output, 1e-13));
    EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 1e-14));
    EXPECT_TRUE(all_near(got.lse, want.lse, 1e-13));
  }
}

// The scores are 1 * tanh(artanh(ln 2)) + 7 * tanh(0.5 - 0.5) = ln 2 for both
// keys; for the second one 0 where its feature 0 is -artanh(ln 2).
TEST(ReferenceTest, ASmallAdditiveCaseGivesTheNumbersComputedByHand) {
  const Inputs<double> in = {
      tensor_of<double, 4>({1, 1, 1, 2}, {std::atanh(std::log(2.0)), 0.5}),
      tensor_of<double, 4>({1, 2, 1, 2}, {0, -0.5, 0, -0.5}),
      tensor_of<double, 4>({1, 2, 1, 1}, {0, 3})};
  Inputs<double> other = {in.query.clone().value(), in.key.clone().value(),
                          in.value.clone().value()};
  other.key(0, 1, 0, 0) = -std::atanh(std::log(2.0));
  const auto score_weight = tensor_of<float, 2>({1, 2}, {1, 7});
  const OperationOptions additive = {.score_weight = score_weight};
  EXPECT_NEAR(reference(in, {}, additive).output(0, 0, 0, 0), 1.5, 1e-14);
  // Weights 2 / 3 and 1 / 3.
  EXPECT_NEAR(reference(other, {}, additive).output(0, 0, 0, 0), 1, 1e-14);
  EXPECT_NEAR(reference(other, {}, additive).lse(0, 0, 0), std::log(3.0),
              1e-14);
}

TEST(ReferenceTest, EqualsTheFormulaWithAdditiveScores) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<double> in = widened(random_inputs(shape, 40));
    const auto score_weight = uniform<2>({shape.Hq, shape.D}, 44);
    const auto additive = [&](double, std::size_t b, std::size_t h,
                              std::size_t i, std::size_t j) {
      double sum = 0;
      for (std::size_t d = 0; d < shape.D; ++d) {
        sum +=
            double{score_weight(h, d)} *
            std::tanh(in.query(b, i, h, d) + in.key(b, j, shape.kv_head(h), d));
      }
      return sum;
    };
    const Outputs<double> want = naive_attention(
        in, 1,
        [](std::size_t, std::size_t, std::size_t i, std::size_t j) {
          return j <= i + 1;
        },
        [](auto...) { return 1.0; }, additive);
    const Outputs<double> got =
        reference(in,
                  {.mask = causal(),
                   .query_start = 1,
                   .attn_weights = AttnWeights::per_head},
                  {.score_weight = score_weight});
    EXPECT_TRUE(all_near(got.output, want.output, 1e-13));
    EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 1e-14));
    EXPECT_TRUE(all_near(got.lse, want.lse, 1e-13));
  }
}

TEST(ReferenceTest, BothPrecisionsAgree) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 30);
    const AttentionOptions options = {.attn_weights = AttnWeights::per_head};
    const Outputs<float> narrow = reference(in, options);
    const Outputs<double> wide = reference(widened(in), options);
    EXPECT_TRUE(all_near(narrow.output, wide.output, 5e-6));
    EXPECT_TRUE(all_near(narrow.attn_weights, wide.attn_weights, 2e-6));
    EXPECT_TRUE(all_near(narrow.lse, wide.lse, 5e-6));
  }
}

}  // namespace
}  // namespace headwise::testing_support
