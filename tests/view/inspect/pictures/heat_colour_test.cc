#include "inspect/pictures/heat_colour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "headwise/inspect/pictures.h"
#include "inspect/page/viewer_files.h"

namespace headwise {
namespace {

using testing::HasSubstr;

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

TEST(HeatColourTest, ThePageHasTheSameRamp) {
  const auto bytes = viewer_file("viewer.js");
  const std::string script(reinterpret_cast<const char*>(bytes.data()),
                           bytes.size());
  std::string stops;
  for (int n = 0; n <= 6; ++n) {
    stops += (n == 0 ? "'" : ", '") + colour_text(heat_colour(n / 6.0)) + "'";
  }
  // Its default palette, drawn by the square root, up to the largest number.
  EXPECT_THAT(script, HasSubstr("viridis: [" + stops + "]"));
  EXPECT_THAT(script, HasSubstr("palette: 'viridis',"));
  EXPECT_THAT(script, HasSubstr("clamped(Math.sqrt(value / limit))"));
  EXPECT_THAT(script, HasSubstr("fit: true,"));
  EXPECT_DOUBLE_EQ(weight_share(0.09, 1), 0.3);
  EXPECT_DOUBLE_EQ(weight_share(0.09, 0.36), 0.5);
  EXPECT_EQ(weight_share(0.09, 0), 0);
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
