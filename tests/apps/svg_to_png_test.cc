#include "shell/svg_to_png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "support/errors.h"
#include "support/png_pixels.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

using testing::EndsWith;

constexpr std::array<std::uint8_t, 3> kWhite = {255, 255, 255};
constexpr std::array<std::uint8_t, 3> kRed = {255, 0, 0};
// The ends of the ramp of attention weights: 0 and 1.
constexpr std::array<std::uint8_t, 3> kDarkBlue = {68, 1, 84};
constexpr std::array<std::uint8_t, 3> kYellow = {253, 231, 37};

// A red rectangle at the right of nothing, 20 x 10 in all.
constexpr const char* kHalfRed =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">)"
    R"(<rect x="10" width="10" height="10" fill="#ff0000"/></svg>)";

std::string empty_svg(const std::string& width, const std::string& height) {
  return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + width +
         "\" height=\"" + height + "\"></svg>";
}

TEST(SvgToPngTest, DrawsOnWhite) {
  const PngPixels pixels = png_pixels(svg_to_png(kHalfRed, 1).value());
  ASSERT_EQ(pixels.rows, 10u);
  ASSERT_EQ(pixels.columns, 20u);
  for (std::size_t i = 0; i < pixels.rows; ++i) {
    for (std::size_t j = 0; j < pixels.columns; ++j) {
      EXPECT_EQ(pixels.at(i, j), j < 10 ? kWhite : kRed) << i << ", " << j;
    }
  }
}

TEST(SvgToPngTest, ZoomMultipliesThePixels) {
  const PngPixels larger = png_pixels(svg_to_png(kHalfRed, 2.5).value());
  EXPECT_EQ(larger.rows, 25u);
  EXPECT_EQ(larger.columns, 50u);
  EXPECT_EQ(larger.at(24, 24), kWhite);
  EXPECT_EQ(larger.at(24, 25), kRed);
  const PngPixels smaller = png_pixels(svg_to_png(kHalfRed, 1e-9).value());
  EXPECT_EQ(smaller.rows, 1u);
  EXPECT_EQ(smaller.columns, 1u);
}

// A number in the tag of the first image.
double of_image(const std::string& svg, const std::string& attribute) {
  const std::string start = " " + attribute + "=\"";
  const std::size_t at = svg.find(start, svg.find("<image "));
  return std::stod(svg.substr(at + start.size()));
}

TEST(SvgToPngTest, TheCellsOfAnImageStaySharp) {
  constexpr double kZoom = 5;
  constexpr std::array<float, 4> kWeights = {0, 1, 1, 0};
  const GridHead head = {.layer = 0,
                         .head = 0,
                         .pruned = false,
                         .map = {kWeights.data(), {2, 2}},
                         .note = ""};
  const std::string svg =
      heads_grid_svg(
          {.heads = {&head, 1}, .title = "", .subtitle = "", .zoom = kZoom})
          .value();
  const PngPixels pixels = png_pixels(svg_to_png(svg, kZoom).value());
  const auto pixel_of = [&](const std::string& attribute) {
    return static_cast<std::size_t>(kZoom * of_image(svg, attribute));
  };
  const std::size_t top = pixel_of("y");
  const std::size_t left = pixel_of("x");
  const std::size_t rows = pixel_of("height");
  const std::size_t columns = pixel_of("width");
  ASSERT_GE(rows, 100u);
  ASSERT_GE(columns, 100u);
  constexpr std::size_t kFrame = 5;  // drawn over the edge of the image
  for (std::size_t i = kFrame; i < rows - kFrame; ++i) {
    for (std::size_t j = kFrame; j < columns - kFrame; ++j) {
      const bool most = (i < rows / 2) != (j < columns / 2);
      EXPECT_EQ(pixels.at(top + i, left + j), most ? kYellow : kDarkBlue)
          << i << ", " << j;
    }
  }
}

// The picture is refused, and the error names these values.
auto IsRefused(ErrorCode code, std::vector<std::string> given,
               std::vector<std::string> expected = {}) {
  return HasError({.code = code,
                   .operation = "svg_to_png",
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

TEST(SvgToPngTest, WhatIsNoSvgIsAnError) {
  for (const std::string& text :
       {std::string(), std::string("no picture"), std::string("<svg"),
        std::string("<html/>"), std::string("\x89PNG\r\n\x1a\n", 8),
        std::string(100, '\0')}) {
    const auto png = svg_to_png(text, 1);
    EXPECT_THAT(png, IsRefused(ErrorCode::bad_data, {}))
        << testing::PrintToString(text);
  }
  EXPECT_THAT(svg_to_png(empty_svg("100%", "100%"), 1),
              IsRefused(ErrorCode::bad_data, {"width", "height"}));
}

TEST(SvgToPngTest, LargerThanCairoDrawsIsAnError) {
  EXPECT_TRUE(svg_to_png(empty_svg("32767", "1"), 1));
  EXPECT_THAT(svg_to_png(empty_svg("20000", "10"), 2),
              IsRefused(ErrorCode::out_of_range, {"40000 x 20"}, {"32767"}));
  EXPECT_THAT(
      svg_to_png(empty_svg("20000", "20000"), 1),
      IsRefused(ErrorCode::out_of_range, {"20000 x 20000"}, {"268435456"}));
  EXPECT_THAT(svg_to_png(kHalfRed, 1e300),
              IsRefused(ErrorCode::out_of_range, {}));
}

TEST(SvgToPngTest, ZoomIsANumberAboveZero) {
  const auto is_refused = [](std::string given) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .operation = "svg_to_png",
                     .argument = "zoom",
                     .given = {std::move(given)},
                     .expected = {"0"}});
  };
  for (const auto& [zoom, given] :
       {std::pair{0.0, "0"},
        {-1.0, "-1"},
        {std::numeric_limits<double>::infinity(), "inf"},
        {std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    EXPECT_THAT(svg_to_png(kHalfRed, zoom), is_refused(given));
  }
}

TEST(SvgToPngTest, AnImageLongerThanAnAttributeMayBeUsually) {
  // libxml2's own limit is ten million characters.
  const std::string data(std::size_t{11} << 20, 'A');
  const std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3\" height=\"2\">"
      "<image width=\"1\" height=\"1\" href=\"data:image/png;base64," +
      data + "\"/></svg>";
  EXPECT_EQ(png_pixels(svg_to_png(svg, 1).value()).columns, 3u);
}

}  // namespace
}  // namespace headwise::cli
