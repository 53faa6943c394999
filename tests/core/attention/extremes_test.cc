// The smallest, the largest and the strangest, on every instruction set of this
// machine.

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "attention/attention_call.h"
#include "attention/contract.h"
#include "headwise/steps/projection.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

class ExtremesTest : public TargetTest {};

const AttentionShape kShape = {
    .B = 1, .Hq = 2, .Hkv = 1, .Lq = 50, .Lkv = 270, .D = 9, .Dv = 10};
const AttentionOptions kWeights = {.attn_weights = AttnWeights::per_head};

TEST_P(ExtremesTest, SizesOfOneAndOddOnesAgreeWithTheReference) {
  for (const std::size_t L : {1u, 2u, 129u}) {
    for (const std::size_t D : {1u, 257u, 513u}) {
      for (const std::size_t Dv : {1u, 257u}) {
        const Inputs<float> in = random_inputs({1, 2, 1, L, L, D, Dv}, 1500);
        const Outputs<float> got = attend(in, kWeights);
        const Outputs<double> want = reference(widened(in), kWeights);
        EXPECT_TRUE(all_near(got.output, want.output, 4e-5)) << L << " " << D;
        EXPECT_TRUE(all_near(got.lse, want.lse, 4e-5)) << L << " " << D;
      }
    }
  }
}

// One key in each block of keys has the score +s, the others -s: the exact
// answer is their mean, whatever s is.
TEST_P(ExtremesTest, ScoresAsLargeAsTheyMayBeGiveOneHotRows) {
  for (const float size : {1e4f, 1e30f, 2e38f}) {
    Inputs<float> in = random_inputs(kShape, 1510);
    std::fill_n(in.query.data(), in.query.size(), 0.0f);
    std::fill_n(in.key.data(), in.key.size(), 0.0f);
    for (std::size_t i = 0; i < 50; ++i) {
      in.query(0, i, 0, 3) = in.query(0, i, 1, 3) = 1;
    }
    for (std::size_t j = 0; j < 270; ++j) {
      in.key(0, j, 0, 3) = j == 5 || j == 200 ? size : -size;
    }
    AttentionOptions options = kWeights;
    options.scale = 1;
    const Outputs<float> out = attend(in, options);
    for (std::size_t i = 0; i < 50; ++i) {
      for (std::size_t c = 0; c < 10; ++c) {
        const float mean = (in.value(0, 5, 0, c) + in.value(0, 200, 0, c)) / 2;
        EXPECT_EQ(out.output(0, i, 1, c), mean) << size;
      }
      for (std::size_t j = 0; j < 270; ++j) {
        EXPECT_EQ(bits(out.attn_weights(0, 1, i, j)),
                  bits(j == 5 || j == 200 ? 0.5f : 0.0f));
      }
    }
  }
}

TEST_P(ExtremesTest, EqualScoresGiveEqualWeights) {
  Inputs<float> in = random_inputs(kShape, 1520);
  std::fill_n(in.key.data(), in.key.size(), 0.75f);
  std::fill_n(in.value.data(), in.value.size(), 0.5f);
  const Outputs<float> out = attend(in, kWeights);
  EXPECT_THAT(out.output.elements(), Each(0.5f));
  EXPECT_THAT(out.attn_weights.elements(), Each(1 / 270.0f));
}

TEST_P(ExtremesTest, NaNsOfEveryPayloadAndSignComeOutAsTheOneNaN) {
  const Inputs<float> clean = random_inputs(kShape, 1530);
  for (const std::uint32_t payload : {0x7fc00000u, 0xffc00000u, 0x7fffffffu,
                                      0xffc12345u, 0x7f800001u, 0xffbfffffu}) {
    const auto nan = std::bit_cast<float>(payload);
    for (Tensor<float, 4> Inputs<float>::*part :
         {&Inputs<float>::query, &Inputs<float>::key, &Inputs<float>::value}) {
      Inputs<float> in = clone(clean);
      (in.*part)(0, 17, 0, 2) = nan;
      const Outputs<float> out = attend(in, kWeights);
      std::size_t nans = 0;
      for (const auto all : {out.output.elements(), out.lse.elements(),
                             out.attn_weights.elements()}) {
        for (const float x : all) {
          nans += std::isnan(x) ? 1 : 0;
          ASSERT_TRUE(!std::isnan(x) || bits(x) == kNaNBits)
              << std::hex << bits(x) << " from " << payload;
        }
      }
      EXPECT_GT(nans, 0u);
    }
  }
}

TEST_P(ExtremesTest, TheSavedNumbersOfARowWithANaNAreTheOneNaN) {
  const Inputs<float> clean = random_inputs(kShape, 1535);
  for (const std::uint32_t payload : {0xffc12345u, 0x7f800001u, 0xffffffffu}) {
    for (Tensor<float, 4> Inputs<float>::*part :
         {&Inputs<float>::query, &Inputs<float>::key}) {
      Inputs<float> in = clone(clean);
      (in.*part)(0, 17, 0, 2) = std::bit_cast<float>(payload);
      Outputs<float> out = outputs_for(in, AttnWeights::none);
      auto rows = filled<float, 4>({1, 2, 50, 2}, 42);
      AttentionOutputs outputs = out.views();
      outputs.softmax_rows = rows;
      ASSERT_TRUE(attention(in.query, in.key, in.value, outputs, {}));
      for (std::size_t n = 0; n < rows.size(); n += 2) {
        const bool is_nan = std::isnan(out.lse.data()[n / 2]);
        for (const float saved : {rows.data()[n], rows.data()[n + 1]}) {
          EXPECT_EQ(std::isnan(saved), is_nan);
          EXPECT_TRUE(!is_nan || bits(saved) == kNaNBits)
              << std::hex << bits(saved) << " from " << payload;
        }
      }
      EXPECT_TRUE(std::isnan(rows(0, 0, 17, 0)));
    }
  }
}

TEST_P(ExtremesTest, DenormalNumbersCountAsZero) {
  const float tiny = 1e-39f;
  Inputs<float> in = random_inputs(kShape, 1540);
  std::fill_n(in.key.data(), in.key.size(), tiny);
  std::fill_n(in.query.data(), in.query.size(), -1e30f);
  std::fill_n(in.value.data(), in.value.size(), -tiny);
  const Outputs<float> out = attend(in, kWeights);
  for (const float x : out.output.elements()) {
    EXPECT_EQ(bits(x), 0u);
  }
  EXPECT_THAT(out.attn_weights.elements(), Each(1 / 270.0f));
}

TEST_P(ExtremesTest, RowsThatSeeNothingFollowTheirPolicyAndOthersDoNot) {
  const Inputs<float> in = random_inputs(kShape, 1550);
  auto lengths = filled<std::int64_t, 2>({1, 50}, 0);
  for (std::size_t i = 0; i < 50; i += 7) {
    lengths(0, i) = 130;
  }
  AttentionOptions options = kWeights;
  options.mask = key_lengths(lengths);
  for (const EmptyRow policy :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    options.empty_rows = policy;
    const Outputs<float> got = attend(in, options);
    const Outputs<double> want = reference(widened(in), options);
    EXPECT_TRUE(all_near(got.output, want.output, 2e-6, 2e-6));
    EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 2e-6));
    EXPECT_TRUE(all_near(got.lse, want.lse, 2e-6, 2e-6));
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(got.lse(0, 1, i) == kMinusInf, i % 7 != 0);
      EXPECT_EQ(std::isnan(got.output(0, i, 1, 0)),
                i % 7 != 0 && policy == EmptyRow::nan);
    }
  }
}

// ---- The floating-point environment is left as it was found. ----

// Whether 1 + tiny, -1 - tiny and 1 - tiny leave 1: how sums are rounded.
// (std::fegetround asks another unit than the one that adds.)
std::array<bool, 3> rounding() {
  const volatile float one = 1;
  const volatile float tiny = 1e-20f;
  return {one + tiny > 1, -one - tiny < -1, one - tiny < 1};
}

bool denormals_survive() {
  volatile float small = std::numeric_limits<float>::min();
  return small / 2 != 0;
}

void compute_something() {
  attend(random_inputs(kShape, 1560), kWeights);
  const auto x = uniform<3>({1, 300, 130}, 1561);
  ASSERT_TRUE(Linear::create({.in_features = 130, .out_features = 200},
                             RandomStream(Seed{1}, 1))
                  .value()
                  .forward(x));
}

TEST_P(ExtremesTest, EveryRoundingModeIsLeftAsItWasFound) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const std::array<bool, 3> found = rounding();
    compute_something();
    EXPECT_EQ(rounding(), found) << mode;
    EXPECT_EQ(std::fegetround(), mode);
  }
  std::fesetround(FE_TONEAREST);
}

TEST_P(ExtremesTest, FlushToZeroIsLeftAsItWasFound) {
  ASSERT_TRUE(denormals_survive());
  compute_something();
  EXPECT_TRUE(denormals_survive());
#if defined(__SSE__)
  const unsigned found = _mm_getcsr();
  for (const unsigned flush : {0x8000u, 0x0040u, 0x8040u}) {
    _mm_setcsr((found & ~0x3fu) | flush);  // without exceptions raised before
    const unsigned before = _mm_getcsr();
    compute_something();
    EXPECT_EQ(_mm_getcsr() & ~0x3fu, before & ~0x3fu);
  }
  _mm_setcsr(found);
#endif
}

INSTANTIATE_TEST_SUITE_P(Targets, ExtremesTest, testing::ValuesIn(targets()),
                         target_name);

// ---- More than 2^31 query-key pairs. ----

TEST(LongSequenceTest, OfMoreThan2To31PairsHasTheBitsOfTheContract) {
  constexpr std::size_t L = 65536;
  const Inputs<float> in = random_inputs(
      {.B = 1, .Hq = 1, .Hkv = 1, .Lq = L, .Lkv = L, .D = 8, .Dv = 8}, 1570);
  const Outputs<float> out = attend(in, {.mask = causal()});
  for (const std::size_t i : {0u, 127u, 128u, 32769u, 65535u}) {
    Inputs<float> row = {Tensor<float, 4>::create({1, 1, 1, 8}).value(),
                         clone(in.key), clone(in.value)};
    std::copy_n(&in.query(0, i, 0, 0), 8, row.query.data());
    const auto want =
        Contract(
            row,
            {.mask = causal(), .query_start = static_cast<std::int64_t>(i)}, {})
            .run();
    EXPECT_TRUE(same_bits(want.output.elements(), {&out.output(0, i, 0, 0), 8}))
        << "query " << i;
  }
}

}  // namespace
}  // namespace headwise::testing_support
