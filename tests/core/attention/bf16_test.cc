// In bfloat16 the kernels' bits are those of docs/arithmetic.md, on every
// instruction set with fused multiply-add, and no cut of the work changes them.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "attention/attention_call.h"
#include "attention/contract.h"
#include "support/half_tensors.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

AttentionOptions in_bf16(AttentionOptions options) {
  options.arithmetic = Arithmetic::bf16;
  return options;
}

class Bf16Test : public TargetTest {
 protected:
  static void expect_contract(const Inputs<float>& in,
                              const AttentionOptions& options,
                              const std::string& name,
                              const OperationOptions& operation_options = {}) {
    const AttentionOptions bf16 = in_bf16(options);
    const Outputs<float> want = Contract(in, bf16, operation_options).run();
    EXPECT_TRUE(same_bits(attend(in, bf16, operation_options), want)) << name;
    // Few queries are computed in another way unless weights are wanted.
    AttentionOptions plain = bf16;
    plain.attn_weights = AttnWeights::none;
    plain.scores = ScoresStage::none;
    const Outputs<float> few = attend(in, plain, operation_options);
    EXPECT_TRUE(same_bits(few.output, want.output)) << name << ", plain";
    EXPECT_TRUE(same_bits(few.lse, want.lse)) << name << ", plain";
  }
};

TEST_P(Bf16Test, HoldsTheContractForEveryMaskAndOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 8800);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      expect_contract(in, c.options,
                      c.name + ", Lkv " + std::to_string(shape.Lkv),
                      c.operation_options);
    }
  }
}

TEST_P(Bf16Test, HoldsTheContractForSizesAroundPairsVectorsTilesAndBlocks) {
  for (const std::size_t Lq : {1u, 15u, 16u, 17u, 48u, 49u}) {
    for (const std::size_t Lkv : {1u, 2u, 7u, 127u, 128u, 129u, 257u}) {
      const AttentionShape shape{1, 2, 1, Lq, Lkv, 9, 11};
      expect_contract(
          random_inputs(shape, 8810),
          {.mask = causal(),
           .query_start = QueryStart::bottom_right(),
           .attn_weights = AttnWeights::per_head},
          "Lq " + std::to_string(Lq) + ", Lkv " + std::to_string(Lkv));
    }
  }
}

TEST_P(Bf16Test, HoldsTheContractForEveryHeadSize) {
  for (const std::size_t D : {1u, 2u, 3u, 7u, 8u, 63u, 64u, 65u, 257u}) {
    for (const std::size_t Dv : {1u, 4u, 8u, 9u, 129u}) {
      for (const std::size_t Lq : {3u, 20u}) {
        const AttentionShape shape{1, 1, 1, Lq, 131, D, Dv};
        expect_contract(random_inputs(shape, 8820), {},
                        "Lq " + std::to_string(Lq) + ", D " +
                            std::to_string(D) + ", Dv " + std::to_string(Dv));
      }
    }
  }
}

// Denormal numbers become 0, and the largest of all round to infinity.
TEST_P(Bf16Test, HoldsTheContractForNumbersOfEverySize) {
  for (const std::size_t Lq : {2u, 20u}) {
    const AttentionShape shape{1, 2, 2, Lq, 300, 8, 24};
    for (const double range : {1e-39, 1e-30, 1e-3, 30.0, 1e4, 1e18, 3.4e38}) {
      expect_contract(random_inputs(shape, 8830, range),
                      {.attn_weights = AttnWeights::per_head},
                      "range " + std::to_string(range));
    }
  }
}

// Some values are NaN or infinite, on both sides of the last key that a query
// sees, which may be the first of its pair.
TEST_P(Bf16Test, ReadsNoMaskedValue) {
  for (const auto& [Lq, Lkv, Dv] : {std::array<std::size_t, 3>{33, 7, 10},
                                    {33, 128, 10},
                                    {33, 200, 10},
                                    {3, 7, 10},
                                    {5, 200, 10},
                                    {4, 200, 40}}) {
    const AttentionShape shape{2, 2, 1, Lq, Lkv, 6, Dv};
    Inputs<float> in = random_inputs(shape, 8840);
    const float kPoisons[] = {kNaN, -kMinusInf, 3.4e38f, kMinusInf};
    for (std::size_t n = 3, turn = 0; n < in.value.size(); n += 101) {
      in.value.data()[n] = kPoisons[turn++ % 4];
    }
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      expect_contract(in, c.options, c.name, c.operation_options);
    }
    for (const std::int64_t first : {1, 4, 5}) {
      const auto lengths = tensor_of<std::int64_t, 1>({2}, {first, first + 1});
      const Mask mask = key_lengths(lengths);
      const Outputs<float> want =
          attend(random_inputs(shape, 8840), in_bf16({.mask = mask}));
      Inputs<float> poisoned = random_inputs(shape, 8840);
      for (std::size_t b = 0; b < 2; ++b) {
        for (std::size_t j = static_cast<std::size_t>(lengths(b)); j < Lkv;
             ++j) {
          for (std::size_t c = 0; c < shape.Dv; ++c) {
            poisoned.value(b, j, 0, c) = kNaN;
            poisoned.key(b, j, 0, c % shape.D) = kNaN;
          }
        }
      }
      EXPECT_TRUE(same_bits(attend(poisoned, in_bf16({.mask = mask})), want))
          << first << " of " << Lkv;
    }
  }
}

// The first queries see all of an odd number of keys. The value of the next
// key, which other queries see, is NaN.
TEST_P(Bf16Test, ReadsNoValueBehindTheLastKeyOfATile) {
  const AttentionShape shape{1, 1, 1, 96, 9, 6, 10};
  Inputs<float> in = random_inputs(shape, 8845);
  in.value(0, 5, 0, 3) = kNaN;
  Tensor<std::int64_t, 2> lengths =
      Tensor<std::int64_t, 2>::create({1, 96}).value();
  for (std::size_t i = 0; i < 96; ++i) {
    lengths(0, i) = i < 48 ? 5 : 9;
  }
  expect_contract(in, {.mask = key_lengths(lengths.view())}, "odd lengths");
}

INSTANTIATE_TEST_SUITE_P(Targets, Bf16Test,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16Test);

// Keys and values of 16 bits are read as they are where queries are few.
template <class T>
void expect_the_bits_of_floats(const AttentionShape& shape) {
  const Inputs<float> in = random_inputs(shape, 8860);
  const auto query = narrowed_to<T>(in.query);
  const auto key = narrowed_to<T>(in.key);
  const auto value = narrowed_to<T>(in.value);
  const Inputs<float> wide = {widened_to_float(query), widened_to_float(key),
                              widened_to_float(value)};
  const AttentionOptions bf16 = in_bf16({.mask = causal()});
  auto output = narrowed_to<T>(attend(wide, {}).output);
  ASSERT_TRUE(attention(query, key, value,
                        AttentionOutputsOf<T>{.output = output}, bf16));
  EXPECT_TRUE(same_bits(widened_to_float(output),
                        rounded_to<T>(attend(wide, bf16).output)))
      << "Lq " << shape.Lq << ", D " << shape.D;
}

TEST(Bf16BitsTest, Of16BitTensorsAreThoseOfTheSameFloats) {
  for (const std::size_t Lq : {1u, 4u, 30u}) {
    for (const auto& [D, Dv] :
         {std::pair(32u, 40u), std::pair(9u, 150u), std::pair(18u, 3u)}) {
      const AttentionShape shape{1, 4, 2, Lq, 333, D, Dv};
      expect_the_bits_of_floats<BFloat16>(shape);
      expect_the_bits_of_floats<Float16>(shape);
    }
  }
}

TEST(Bf16BitsTest, AreTheSameOnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 8850);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      const AttentionOptions bf16 = in_bf16(c.options);
      const Outputs<float> want = attend(in, bf16, c.operation_options);
      const Executor executor = Executor::with_threads(3).value();
      AttentionOptions threaded = bf16;
      threaded.executor = &executor;
      EXPECT_TRUE(same_bits(attend(in, threaded, c.operation_options), want))
          << c.name;
    }
  }
}

TEST(Bf16ErrorsTest, NameTheArithmeticWhereOnlyFloat32IsComputed) {
  const AttentionShape shape{1, 1, 1, 2, 2, 2, 2};
  const Inputs<float> in = random_inputs(shape, 8860);
  const AttentionOptions bf16 = in_bf16({});
  const auto steps = stepwise_attention(in.query, in.key, in.value, bf16);
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().message(),
            "attention: arithmetic is bf16, expected exact: this "
            "call computes in float32 only");
}

}  // namespace
}  // namespace headwise::testing_support
