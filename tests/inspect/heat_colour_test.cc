#include "inspect/heat_colour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headwise {
namespace {

// WCAG 2.1.
double luminance(Rgb colour) {
  double sum = 0;
  for (const auto& [channel, part] :
       {std::pair(0U, 0.2126), {1U, 0.7152}, {2U, 0.0722}}) {
    const double share = colour[channel] / 255.0;
    sum += part * (share <= 0.04045 ? share / 12.92
                                    : std::pow((share + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(Rgb a, Rgb b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

TEST(HeatColourTest, InkCanBeReadOnEveryColour) {
  for (int n = 0; n <= 1000; ++n) {
    const Rgb ground = heat_colour(n / 1000.0);
    ASSERT_GE(contrast(ground, ink_on(ground)), 4.5) << n;
  }
  for (const Rgb ground : {kMaskedColour, kNoNumberColour}) {
    EXPECT_GE(contrast(ground, ink_on(ground)), 4.5);
  }
}

}  // namespace
}  // namespace headwise
