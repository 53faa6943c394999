#include "headwise/base/layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <vector>

#include "headwise/base/tensor.h"

namespace headwise {
namespace {

constexpr std::size_t B = 2, L = 3, H = 4, D = 5;

std::vector<float> numbers() {
  std::vector<float> data(B * L * H * D);
  std::iota(data.begin(), data.end(), 0.0f);
  return data;
}

TEST(LayoutTest, BothLayoutsGiveTheSameExtents) {
  const std::vector<float> data = numbers();
  const TensorView<const float, 4> blhd = view_blhd(data, B, L, H, D).value();
  const TensorView<const float, 4> bhld = view_bhld(data, B, H, L, D).value();
  EXPECT_EQ(blhd.extents(), (Extents<4>{B, L, H, D}));
  EXPECT_EQ(bhld.extents(), (Extents<4>{B, L, H, D}));
  EXPECT_EQ(&blhd(1, 2, 3, 4), &data[((1 * L + 2) * H + 3) * D + 4]);
  EXPECT_EQ(&bhld(1, 2, 3, 4), &data[((1 * H + 3) * L + 2) * D + 4]);
}

TEST(LayoutTest, TakesASpanAndKeepsConstness) {
  auto tensor = Tensor<float, 1>::create({B * L * H * D}).value();
  const TensorView<float, 4> view =
      view_bhld(tensor.elements(), B, H, L, D).value();
  view(1, 2, 3, 4) = 7;
  EXPECT_EQ(tensor(((1 * H + 3) * L + 2) * D + 4), 7.0f);
  EXPECT_TRUE(view_blhd(tensor, B, L, H, D));
}

template <class Data>
concept HasLayout = requires(Data&& data) {
  view_bhld(std::forward<Data>(data), B, H, L, D);
};
static_assert(HasLayout<std::vector<float>&> && HasLayout<std::span<float>>);
static_assert(!HasLayout<std::vector<float>>);  // a temporary

TEST(LayoutTest, TheNumberOfElementsMustFit) {
  const std::vector<float> data = numbers();
  const auto short_by_one =
      view_bhld(std::span(data).first(data.size() - 1), B, H, L, D);
  ASSERT_FALSE(short_by_one);
  EXPECT_EQ(short_by_one.error().code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(short_by_one.error().message(),
            "view_bhld: data has 119 elements, expected B * H * L * D = "
            "2 * 4 * 3 * 5 = 120");
  EXPECT_EQ(view_blhd(data, B, L, H, 1).error().message(),
            "view_blhd: data has 120 elements, expected B * L * H * D = "
            "2 * 3 * 4 * 1 = 24");
  // A product that overflows fits no data.
  EXPECT_FALSE(view_blhd(data, ~std::size_t{0}, ~std::size_t{0}, H, D));
}

}  // namespace
}  // namespace headwise
