#include "base/copy_of.h"

#include <gtest/gtest.h>

#include <vector>

namespace headwise {
namespace {

TEST(CopyOfTest, HasTheElementsOfAnyStridesInOrder) {
  const std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7};
  const TensorView<const float, 3> columns(&data[1], {2, 1, 3}, {1, 9, 2});
  const Tensor<float, 3> copy = copy_of(columns).value();
  EXPECT_EQ(copy.extents(), columns.extents());
  EXPECT_EQ(std::vector(copy.elements().begin(), copy.elements().end()),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
  const TensorView<const float, 2> back(&data[7], {2, 2}, {-4, 0});
  const Tensor<float, 2> turned = copy_of(back).value();
  EXPECT_EQ(std::vector(turned.elements().begin(), turned.elements().end()),
            (std::vector<float>{7, 7, 3, 3}));
}

TEST(CopyOfTest, AViewWithoutElementsGivesATensorWithout) {
  const Tensor<int, 2> none =
      copy_of(TensorView<const int, 2>(nullptr, {3, 0})).value();
  EXPECT_EQ(none.extents(), (Extents<2>{3, 0}));
}

TEST(CopyOfTest, ChangesOfTheOriginalDoNotShow) {
  std::vector<double> data = {1, 2};
  const Tensor<double, 1> copy = copy_of(data).value();
  data[0] = 3;
  EXPECT_EQ(copy(0), 1);
}

}  // namespace
}  // namespace headwise
