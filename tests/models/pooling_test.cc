#include "models/pooling.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "kernels/encoder_contract.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::contract_sum;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;

// The first row of `hidden`, normalized.
std::vector<float> normalized(const Tensor<float, 2>& hidden) {
  std::vector<float> embedding(hidden.extent(1));
  pool(hidden.view(), std::array{Pooling::cls}, true, embedding.data());
  return embedding;
}

TEST(PoolingTest, TheSquaresAreSummedInSixteenParts) {
  for (std::size_t E = 1; E <= 70; ++E) {
    const auto hidden = uniform<2>({1, E}, 60);
    const float squares = contract_sum(
        E, [&](std::size_t i) { return hidden(0, i) * hidden(0, i); });
    std::vector<float> expected;
    for (const float x : hidden.elements()) {
      expected.push_back(x / std::sqrt(squares));
    }
    EXPECT_TRUE(same_bits(normalized(hidden), expected)) << E << " elements";
  }
}

TEST(PoolingTest, AVectorOfAlmostNoLengthIsDividedByTheLeast) {
  const auto short_one = tensor_of<float, 2>({1, 3}, {3e-13f, 0, -4e-13f});
  EXPECT_TRUE(same_bits(normalized(short_one),
                        std::vector{3e-13f / 1e-12f, 0.0f, -4e-13f / 1e-12f}));
  const auto zeros = tensor_of<float, 2>({1, 3}, {0, 0, 0});
  EXPECT_TRUE(same_bits(normalized(zeros), zeros.elements()));
}

}  // namespace
}  // namespace headwise
