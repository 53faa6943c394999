// The bits of layer normalisation's backward pass are those of
// docs/arithmetic.md, on every instruction set that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "headwise/steps/layer_norm.h"
#include "kernels/encoder_contract.h"
#include "support/checksum.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

LayerNormParams params_of(std::size_t E) {
  return {uniform<1>({E}, 81, 0.5, 1.5), uniform<1>({E}, 82)};
}

// `offsets` empty: one sequence.
void expect_contract(const Tensor<float, 2>& x, const LayerNormParams& params,
                     const Tensor<float, 2>& d_y,
                     const std::vector<std::int64_t>& offsets,
                     const std::string& what) {
  auto d_x = filled<float, 2>(x.extents(), -7);
  const auto starts = tensor_of<std::int64_t, 1>({offsets.size()}, offsets);
  const auto got =
      layer_norm_backward(
          x.view(), params, d_y.view(), d_x.view(),
          offsets.empty() ? TensorView<const std::int64_t, 1>() : starts.view())
          .value();
  const std::vector<std::int64_t> one{0,
                                      static_cast<std::int64_t>(x.extent(0))};
  const auto want = contract_layer_norm_backward(
      x.view(), params, d_y.view(), offsets.empty() ? one : offsets);
  EXPECT_TRUE(same_bits(d_x, want.d_x)) << "d_x, " << what;
  EXPECT_TRUE(same_bits(got.weight, want.weight)) << "weight, " << what;
  EXPECT_TRUE(same_bits(got.bias, want.bias)) << "bias, " << what;
}

class LayerNormGradientContractTest : public TargetTest {};

TEST_P(LayerNormGradientContractTest, HoldsForEverySizeAroundTheSixteenSums) {
  for (std::size_t E = 1; E <= 70; ++E) {
    expect_contract(uniform<2>({5, E}, 83), params_of(E),
                    uniform<2>({5, E}, 84), {},
                    std::to_string(E) + " elements");
  }
}

TEST_P(LayerNormGradientContractTest, HoldsForTheSizesOfModels) {
  for (const std::size_t E : {128u, 312u, 384u, 768u, 1024u, 4099u}) {
    expect_contract(uniform<2>({7, E}, 85, -3, 5), params_of(E),
                    uniform<2>({7, E}, 86), {},
                    std::to_string(E) + " elements");
  }
}

TEST_P(LayerNormGradientContractTest, HoldsForEveryNumberOfRowsAroundABlock) {
  for (const std::size_t N : {1u, 127u, 128u, 129u, 256u, 300u}) {
    expect_contract(uniform<2>({N, 37}, 87), params_of(37),
                    uniform<2>({N, 37}, 88), {}, std::to_string(N) + " rows");
  }
}

TEST_P(LayerNormGradientContractTest, BeginsItsBlocksAtEachSequence) {
  const std::vector<std::int64_t> offsets{0, 130, 130, 131, 290, 700};
  expect_contract(uniform<2>({700, 21}, 89), params_of(21),
                  uniform<2>({700, 21}, 90), offsets, "ragged");
}

TEST_P(LayerNormGradientContractTest, HoldsForMoreBlocksThanStandSideBySide) {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t n = 0; n < 600; ++n) {
    offsets.push_back(offsets.back() + 1 + n % 3);
  }
  const auto N = static_cast<std::size_t>(offsets.back());
  expect_contract(uniform<2>({N, 19}, 91), params_of(19),
                  uniform<2>({N, 19}, 92), offsets, "600 sequences");
}

TEST_P(LayerNormGradientContractTest, HoldsForNumbersOfEverySize) {
  const LayerNormParams params = params_of(83);
  for (const double range :
       {1e-38, 3e-38, 1e-20, 1e-6, 1e5, 1e18, 1e20, 3e38}) {
    const std::string what = "range " + std::to_string(range);
    // Enough blocks that some sums of theirs become denormal numbers.
    const auto wide = uniform<2>({300, 83}, 93, -range, range);
    const auto unit = uniform<2>({300, 83}, 94);
    expect_contract(wide, params, unit, {}, what + " of x");
    expect_contract(unit, params, wide, {}, what + " of d_y");
  }
}

TEST_P(LayerNormGradientContractTest, HoldsWithNaNsAndInfinities) {
  LayerNormParams params = params_of(53);
  auto x = uniform<2>({12, 53}, 95);
  auto d_y = uniform<2>({12, 53}, 96);
  x(1, 0) = -kNaN;
  x(3, 52) = kNaN;
  x(5, 17) = kInfinity;
  d_y(7, 0) = -kInfinity;
  d_y(7, 30) = kInfinity;
  d_y(8, 52) = -kNaN;
  expect_contract(x, params, d_y, {}, "in rows");
  params.weight(3) = kInfinity;
  params.bias(50) = -kNaN;
  expect_contract(uniform<2>({12, 53}, 95), params, uniform<2>({12, 53}, 96),
                  {}, "in parameters");
}

TEST_P(LayerNormGradientContractTest, HoldsForRowsWithoutGradient) {
  for (const float nothing : {0.0f, -0.0f, 1e-40f}) {
    auto x = uniform<2>({9, 53}, 97);
    auto d_y = uniform<2>({9, 53}, 98);
    std::fill_n(&d_y(2, 0), 53, nothing);
    std::fill_n(&d_y(8, 0), 53, nothing);
    std::fill_n(&d_y(5, 0), 52, nothing);  // but one element
    std::fill_n(&x(8, 0), 53, kNaN);
    expect_contract(x, params_of(53), d_y, {}, std::to_string(nothing));
  }
}

// They change only when docs/arithmetic.md does.
TEST_P(LayerNormGradientContractTest, ItsBitsAreTheseEverywhere) {
  Checksum checksum;
  for (const double range : {2e-38, 1.0, 1e6, 3e38}) {
    const auto x = uniform<2>({137, 389}, 99, -range, range);
    auto d_x = filled<float, 2>(x.extents(), -7);
    const auto d_y = uniform<2>(x.extents(), 100);
    const auto params =
        layer_norm_backward(x.view(), params_of(389), d_y.view(), d_x.view())
            .value();
    checksum.add(d_x.elements());
    checksum.add(params.weight.elements());
    checksum.add(params.bias.elements());
  }
  EXPECT_EQ(checksum.value(), 0xca45027762d53776);
}

INSTANTIATE_TEST_SUITE_P(Targets, LayerNormGradientContractTest,
                         testing::ValuesIn(targets()), target_name);

}  // namespace
}  // namespace headwise::testing_support
