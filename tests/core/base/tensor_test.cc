#include "headwise/base/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace headwise {
namespace {

TEST(TensorTest, StartsAtZeroOnACacheLine) {
  const auto tensor = Tensor<float, 3>::create({3, 5, 7}).value();
  EXPECT_EQ(tensor.size(), 105u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % kTensorAlignment,
            0u);
  EXPECT_THAT(tensor.elements(), testing::Each(0.0f));
}

TEST(TensorTest, ASizeThatOverflowsIsAnErrorWithoutText) {
  const std::size_t huge = std::size_t{1} << 40;
  const auto tensor = Tensor<float, 2>::create({huge, huge});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(tensor.error().bytes_needed(), ~std::uint64_t{0});
  // The count fits, the bytes do not.
  EXPECT_FALSE((Tensor<double, 1>::create({~std::size_t{0} / 4})));
}

TEST(TensorTest, AnEmptyTensorIsLegal) {
  const auto tensor = Tensor<float, 2>::create({0, ~std::size_t{0}}).value();
  EXPECT_EQ(tensor.size(), 0u);
}

}  // namespace
}  // namespace headwise
