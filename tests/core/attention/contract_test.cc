// The kernels' bits are those of docs/arithmetic.md, on every instruction set
// with fused multiply-add that this machine has.
#include "attention/contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/attention_call.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

class ContractTest : public TargetTest {
 protected:
  static void expect_contract(const Inputs<float>& in,
                              const AttentionOptions& options,
                              const std::string& name,
                              const OperationOptions& operation_options = {}) {
    const Outputs<float> got = attend(in, options, operation_options);
    const Outputs<float> want = Contract(in, options, operation_options).run();
    EXPECT_TRUE(same_bits(got.output, want.output)) << name;
    EXPECT_TRUE(same_bits(got.attn_weights, want.attn_weights)) << name;
    EXPECT_TRUE(same_bits(got.scores, want.scores)) << name;
    EXPECT_TRUE(same_bits(got.lse, want.lse)) << name;
    if (options.attn_weights == AttnWeights::per_head && is_few(in)) {
      AttentionOptions plain = options;
      plain.attn_weights = AttnWeights::none;
      plain.scores = ScoresStage::none;
      const Outputs<float> few = attend(in, plain, operation_options);
      EXPECT_TRUE(same_bits(few.output, want.output)) << name << ", few";
      EXPECT_TRUE(same_bits(few.lse, got.lse)) << name << ", few";
    }
  }

  // Whether the queries are so few that keys are not packed, unless attention
  // weights are wanted.
  static bool is_few(const Inputs<float>& in) {
    return in.query.extent(1) <= 16;
  }

  struct Rows {
    Outputs<float> outputs;
    Tensor<float, 4> softmax_rows;
  };
  static Rows rows_of(const Inputs<float>& in, const AttentionOptions& options,
                      const OperationOptions& operation_options) {
    const auto [B, Lq, Hq, D] = in.query.extents();
    Rows rows = {outputs_for(in, options, operation_options),
                 filled<float, 4>({B, Hq, Lq, 2}, 42)};
    AttentionOutputs views = rows.outputs.views();
    views.softmax_rows = rows.softmax_rows;
    EXPECT_TRUE(attention(in.query, in.key, in.value, views, options,
                          operation_options));
    return rows;
  }
};

// Some keys and values are no numbers: a few for all rows, most behind masks.
Inputs<float> with_some_poison(const Inputs<float>& clean) {
  Inputs<float> in = clone(clean);
  const float kPoisons[] = {kNaN, -kMinusInf, kMinusInf};
  std::size_t turn = 0;
  for (Tensor<float, 4>* tensor : {&in.key, &in.value}) {
    for (std::size_t n = 61; n < tensor->size(); n += 977) {
      tensor->data()[n] = kPoisons[turn++ % 3];
    }
  }
  return in;
}

// Few queries read keys as they are; where attention weights are wanted, the
// same queries take the way of many.
TEST_P(ContractTest, OfFewQueriesIsThatOfPackedKeys) {
  for (const AttentionShape& shape : {AttentionShape{2, 6, 2, 3, 300, 9, 21},
                                      {1, 4, 1, 1, 1100, 17, 16},
                                      {1, 2, 1, 16, 1100, 16, 90}}) {
    const Inputs<float> clean = random_inputs(shape, 890);
    const Inputs<float> poisoned = with_some_poison(clean);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      if (c.options.attn_weights != AttnWeights::per_head) {
        continue;
      }
      for (const Inputs<float>* in : {&clean, &poisoned}) {
        const Rows want = rows_of(*in, c.options, c.operation_options);
        for (const std::size_t threads : {1u, 3u}) {
          const Executor executor = Executor::with_threads(threads).value();
          AttentionOptions options = c.options;
          options.attn_weights = AttnWeights::none;
          options.scores = ScoresStage::none;
          options.executor = &executor;
          const Rows got = rows_of(*in, options, c.operation_options);
          EXPECT_TRUE(same_bits(got.outputs.output, want.outputs.output) &&
                      same_bits(got.outputs.lse, want.outputs.lse) &&
                      same_bits(got.softmax_rows, want.softmax_rows))
              << c.name << ", Lkv " << shape.Lkv << ", " << threads
              << " threads" << (in == &clean ? "" : ", poisoned");
        }
      }
    }
  }
}

TEST_P(ContractTest, OfFewQueriesIsThatOfPackedKeysInUnevenGroups) {
  const AttentionShape shape = {2, 7, 2, 2, 1300, 9, 40};
  const Inputs<float> in = random_inputs(shape, 895);
  const OperationOptions groups = {.kv_groups = groups_of({2, 5})};
  const Rows want =
      rows_of(in, {.attn_weights = AttnWeights::per_head}, groups);
  const Rows got = rows_of(in, {}, groups);
  EXPECT_TRUE(same_bits(got.outputs.output, want.outputs.output));
  EXPECT_TRUE(same_bits(got.softmax_rows, want.softmax_rows));
}

TEST_P(ContractTest, HoldsForEveryMaskAndOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 800);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      expect_contract(in, c.options,
                      c.name + ", Lkv " + std::to_string(shape.Lkv),
                      c.operation_options);
    }
  }
}

TEST_P(ContractTest, HoldsForSizesAroundVectorsTilesAndBlocks) {
  for (const std::size_t Lq : {1u, 15u, 16u, 17u, 47u, 48u, 49u, 97u}) {
    for (const std::size_t Lkv : {1u, 7u, 127u, 128u, 129u, 257u}) {
      const AttentionShape shape{1, 2, 1, Lq, Lkv, 9, 11};
      expect_contract(
          random_inputs(shape, 810),
          {.mask = causal(),
           .query_start = QueryStart::bottom_right(),
           .attn_weights = AttnWeights::per_head},
          "Lq " + std::to_string(Lq) + ", Lkv " + std::to_string(Lkv));
    }
  }
}

TEST_P(ContractTest, HoldsForUnevenGroups) {
  const AttentionShape shape{2, 7, 2, 97, 257, 9, 11};
  expect_contract(random_inputs(shape, 815),
                  {.mask = causal(),
                   .query_start = QueryStart::bottom_right(),
                   .attn_weights = AttnWeights::per_head},
                  "groups of 3 and 4", {.kv_groups = groups_of({3, 4})});
}

TEST_P(ContractTest, HoldsForEveryHeadSize) {
  for (const std::size_t D : {1u, 2u, 7u, 8u, 63u, 64u, 65u, 257u}) {
    for (const std::size_t Dv : {1u, 4u, 8u, 9u, 129u}) {
      for (const std::size_t Lq : {3u, 20u}) {
        const AttentionShape shape{1, 1, 1, Lq, 130, D, Dv};
        expect_contract(
            random_inputs(shape, 820), {},
            "D " + std::to_string(D) + ", Dv " + std::to_string(Dv));
      }
    }
  }
}

TEST_P(ContractTest, HoldsForScoresOfEverySize) {
  const AttentionShape shape{1, 2, 2, 20, 300, 8, 8};
  for (const double range : {1e-30, 1e-3, 30.0, 1e4, 1e18}) {
    expect_contract(random_inputs(shape, 830, range),
                    {.attn_weights = AttnWeights::per_head},
                    "range " + std::to_string(range));
  }
}

// Beyond 2^24 a distance is rounded to binary32.
TEST_P(ContractTest, HoldsForDistancesOfEverySize) {
  const AttentionShape shape{1, 2, 2, 50, 140, 4, 4};
  const Inputs<float> in = random_inputs(shape, 840);
  const float slopes[] = {0x1p-20f, -0x1.23p-30f};
  const auto table = uniform<2>({10, 2}, 841);
  for (const std::int64_t start :
       {std::int64_t{0}, -(std::int64_t{1} << 24) + 20,
        (std::int64_t{1} << 24) - 20, (std::int64_t{1} << 24) + 70,
        -(std::int64_t{1} << 40), std::int64_t{1} << 62}) {
    expect_contract(in,
                    {.t5_bias = {.table = table,
                                 .max_distance = 1 << 25,
                                 .bidirectional = true},
                     .alibi = {slopes, {2}},
                     .query_start = start,
                     .attn_weights = AttnWeights::per_head},
                    "query_start " + std::to_string(start));
  }
}

TEST_P(ContractTest, HoldsForBiasesAroundVectorsTilesAndBlocks) {
  for (const std::size_t Lq : {1u, 15u, 16u, 17u, 48u, 49u}) {
    for (const std::size_t Lkv : {1u, 3u, 4u, 127u, 129u}) {
      const AttentionShape shape{1, 2, 1, Lq, Lkv, 3, 2};
      const EveryMask every_mask(shape, true);
      for (const auto& [name, bias] : every_mask.biases().biases()) {
        expect_contract(random_inputs(shape, 850),
                        {.bias = bias, .attn_weights = AttnWeights::per_head},
                        name + ", Lq " + std::to_string(Lq) + ", Lkv " +
                            std::to_string(Lkv));
      }
    }
  }
}

TEST_P(ContractTest, HoldsForCappedScoresOfEverySize) {
  const AttentionShape shape{1, 2, 2, 20, 300, 8, 8};
  for (const double range : {1e-22, 1e-3, 1.0, 30.0, 1e4, 1e18}) {
    for (const double softcap : {1e-37, 0.1, 50.0, 2e38}) {
      expect_contract(
          random_inputs(shape, 860, range),
          {.softcap = softcap, .attn_weights = AttnWeights::per_head},
          "range " + std::to_string(range));
    }
  }
}

// Sums of every size: from tangents that are their argument to those that
// are 1.
TEST_P(ContractTest, HoldsForAdditiveScoresOfEverySize) {
  for (const std::size_t D : {1u, 15u, 16u, 17u, 64u}) {
    const AttentionShape shape{1, 4, 2, 50, 131, D, 5};
    for (const double range : {1e-30, 1e-3, 1.0, 30.0, 1e18}) {
      const auto score_weight = uniform<2>({4, D}, 870, -range, range);
      expect_contract(
          random_inputs(shape, 871, range),
          {.mask = causal(),
           .query_start = QueryStart::bottom_right(),
           .attn_weights = AttnWeights::per_head},
          "D " + std::to_string(D) + ", range " + std::to_string(range),
          {.score_weight = score_weight});
    }
  }
}

// A view of the score_weight with any strides.
TEST_P(ContractTest, HoldsForAScoreWeightWithGapsAndBackwards) {
  const AttentionShape shape{2, 4, 2, 5, 9, 6, 3};
  const auto all = uniform<2>({6, 12}, 880);
  const TensorView<const float, 2> score_weight(&all(5, 0), {4, 6}, {2, -12});
  expect_contract(random_inputs(shape, 881), {}, "strides",
                  {.score_weight = score_weight});
}

// The kernels' exp2 has these bits (ContractTest); here is how good they are.
TEST(ContractExp2Test, IsWithinOneUnitInTheLastPlace) {
  const FloatEnvironment environment;
  EXPECT_EQ(contract_exp2(0), 1.0f);
  EXPECT_EQ(contract_exp2(-126), 0x1p-126f);
  EXPECT_EQ(contract_exp2(-126.00001f), 0.0f);
  EXPECT_EQ(contract_exp2(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(contract_exp2(kNaN)));
  double worst = 0;
  for (float x = -126; x < 0; x += 0.00037f) {
    const double exact = std::exp2(static_cast<double>(x));
    worst = std::max(worst, std::abs(contract_exp2(x) / exact - 1));
  }
  EXPECT_LT(worst, 8.1e-8);
}

// Likewise its tanh.
TEST(ContractTanhTest, IsOddAtMostOneAndNearTheTangent) {
  const FloatEnvironment environment;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(contract_tanh(infinity), 1.0f);
  EXPECT_EQ(contract_tanh(-infinity), -1.0f);
  EXPECT_TRUE(std::isnan(contract_tanh(kNaN)));
  EXPECT_EQ(bits(contract_tanh(0.0f)), 0u);
  EXPECT_EQ(bits(contract_tanh(-0.0f)), 0x80000000u);
  double worst = 0;
  // Every 997th number from 2^-120 to +inf.
  for (std::uint32_t at = 0x03800000; at <= 0x7f800000; at += 997) {
    const auto x = std::bit_cast<float>(at);
    const float y = contract_tanh(x);
    const double exact = std::tanh(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(y) / exact - 1));
    ASSERT_LE(y, 1.0f) << x;
    ASSERT_EQ(contract_tanh(-x), -y);
  }
  EXPECT_LT(worst, 2.6e-7);
}

INSTANTIATE_TEST_SUITE_P(Targets, ContractTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ContractTest);

}  // namespace
}  // namespace headwise::testing_support
