#include "headwise/base/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

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
  const auto tensor = Tensor<float, 2>::create({0, ~std::size_t{0}});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->size(), 0u);
}

TEST(TensorViewTest, APermutedViewMovesNothing) {
  auto tensor = Tensor<float, 4>::create({2, 3, 4, 5}).value();
  std::iota(tensor.elements().begin(), tensor.elements().end(), 0.0f);
  const TensorView<const float, 4> view = as_blhd(std::as_const(tensor).view());
  EXPECT_EQ(view.extents(), (Extents<4>{2, 4, 3, 5}));
  EXPECT_EQ(&view(1, 3, 2, 4), &tensor(1, 2, 3, 4));
  EXPECT_EQ(&as_bhld(view)(1, 2, 3, 4), &tensor(1, 2, 3, 4));
}

TEST(TensorViewTest, ABatchOfOneIsTheSameElements) {
  auto tensor = Tensor<float, 2>::create({3, 4}).value();
  const TensorView<float, 3> view = as_batch_of_one(tensor.view());
  EXPECT_EQ(view.extents(), (Extents<3>{1, 3, 4}));
  EXPECT_EQ(&view(0, 2, 1), &tensor(2, 1));
}

}  // namespace
}  // namespace headwise
