#include "view/copy_of.h"

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

TEST(CopyOfTest, IsInCOrderWhateverTheStrides) {
  const auto all = uniform<4>({2, 3, 4, 5}, 1);
  // Heads the other way around, every other feature.
  const TensorView<const float, 4> view(all.data() + 15, {2, 3, 3, 2},
                                        {60, 20, -5, 2});
  const auto copy = copy_of(view).value();
  ASSERT_EQ(copy.extents(), view.extents());
  std::size_t n = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t d = 0; d < 2; ++d) {
          EXPECT_EQ(copy.data()[n++], all(b, l, 3 - h, 2 * d));
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwise::cli
