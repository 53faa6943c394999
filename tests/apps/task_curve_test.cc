#include "train/task_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace headwise::cli {
namespace {

using testing::HasSubstr;

// One falls from 2 to 0, the other stays.
struct Falling {
  std::vector<double> losses;
  std::vector<double> uniform_losses;

  explicit Falling(std::size_t steps) {
    for (std::size_t n = 0; n < steps; ++n) {
      losses.push_back(2.0 * static_cast<double>(steps - 1 - n) /
                       static_cast<double>(steps - 1));
      uniform_losses.push_back(2);
    }
  }
  TaskCurve curve() const { return {"recall", losses, uniform_losses}; }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(CurveTextTest, FallsFromTheTopLeftToTheBottomRight) {
  const auto lines = lines_of(curve_text(Falling(500).curve(), 72));
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_TRUE(lines[1].starts_with(" 2.00 |*")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("oooo")) << lines[1];
  EXPECT_TRUE(lines[12].starts_with(" 0.00 | ")) << lines[12];
  EXPECT_TRUE(lines[12].ends_with("*")) << lines[12];
  EXPECT_TRUE(lines[13].ends_with("step 500")) << lines[13];
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 72u);
  }
}

TEST(CurveTextTest, OneStepIsACurveToo) {
  const std::vector<double> one = {1.5};
  const auto lines = lines_of(curve_text({"recall", one, one}, 72));
  EXPECT_EQ(lines[1], " 1.50 |*");
}

TEST(CurveSvgTest, HasBothCurvesAndSaysWhatTheyAre) {
  const std::string svg = curve_svg(Falling(500).curve()).value();
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr("<title>Loss of task recall over 500 steps"));
  EXPECT_THAT(svg, HasSubstr("uniform attention weights"));
  for (const std::string loss : {"0", "0.5", "1", "1.5", "2"}) {
    EXPECT_THAT(svg, HasSubstr("end\">" + loss + "</text>"));
  }
  const std::size_t first = svg.find("<polyline");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(svg.find("<polyline", first + 1), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace headwise::cli
