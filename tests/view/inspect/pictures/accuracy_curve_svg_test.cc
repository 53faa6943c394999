#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "inspect/pictures/bad_xml.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

AccuracyCurve curve() {
  return {.title = "A task",
          .subtitle = "of a model",
          .series = {.name = "Taylor",
                     .range = "95% interval",
                     .points = {{20, 80, 78.5, 81.5},
                                {0, 90, 89, 91},
                                {10, 88.25, kNaN, kNaN}}},
          .random = {.name = "random",
                     .range = "of five draws",
                     .points = {{0, 90, 90, 90}, {20, 60, 50, 70}}}};
}

TEST(AccuracyCurveSvgTest, EachPointIsThereWithItsNumbers) {
  const std::string svg = accuracy_curve_svg(curve()).value();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_EQ(count(svg, "<circle "), 5u);
  for (const char* tip :
       {"heads removed 0: 90% (89 – 91)", "heads removed 10: 88.25%",
        "heads removed 20: 80% (78.5 – 81.5)",
        "heads removed 20: 60% (50 – 70)"}) {
    EXPECT_THAT(svg, HasSubstr("<title>" + std::string(tip) + "</title>"));
  }
  for (const char* word :
       {"A task", "of a model", "heads removed", "accuracy (%)",
        "Taylor (95% interval)", "random (of five draws)"}) {
    EXPECT_EQ(count(svg, ">" + std::string(word) + "</text>"), 1u) << word;
  }
}

TEST(AccuracyCurveSvgTest, PointsStandWhereTheAxesSay) {
  AccuracyCurve given = curve();
  given.subtitle = "";
  given.width = 200;
  given.height = 100;
  // The plot begins at (68, 76); 50 to 91 is drawn from 50 to 100.
  const std::string svg = accuracy_curve_svg(given).value();
  EXPECT_THAT(svg, HasSubstr("points=\"68,96 168,99.5 268,116\""));  // in order
  EXPECT_THAT(svg, HasSubstr("points=\"68,96 268,156\""));
  EXPECT_THAT(svg, HasSubstr("<polygon fill=\"#d55e00\" fill-opacity=\"0.15\" "
                             "points=\"68,96 268,136 268,176 68,96\"/>"));
  // Bars where there are low and high alone.
  EXPECT_EQ(count(svg, "stroke-width=\"1.5\""), 2u);
  EXPECT_THAT(svg, HasSubstr("M264,113h8M264,119h8M268,119V113"));
  for (const char* number : {"50", "60", "100", "0", "5", "20"}) {
    EXPECT_THAT(svg, HasSubstr(">" + std::string(number) + "</text>"));
  }
}

TEST(AccuracyCurveSvgTest, WithoutARandomSeriesThereIsOne) {
  AccuracyCurve given = curve();
  given.random.points.clear();
  const std::string svg = accuracy_curve_svg(given).value();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_EQ(count(svg, "<circle "), 3u);
  EXPECT_THAT(svg, Not(HasSubstr("random")));
  EXPECT_THAT(svg, Not(HasSubstr("<polygon")));
}

TEST(AccuracyCurveSvgTest, ThoseWhoDoNotSeeItAreToldToo) {
  EXPECT_THAT(
      accuracy_curve_svg(curve()).value(),
      HasSubstr("<title>A task</title>\n<desc>accuracy (%), heads removed. "
                "Taylor: 0: 90% (89 – 91), 10: 88.25%, 20: 80% (78.5 – 81.5). "
                "random: 0: 90% (90 – 90), 20: 60% (50 – 70).</desc>"));
}

TEST(AccuracyCurveSvgTest, WithoutAPointItSaysSo) {
  AccuracyCurve given{.title = "empty"};
  for (int n = 0; n < 2; ++n) {
    const std::string svg = accuracy_curve_svg(given).value();
    EXPECT_EQ(bad_xml(svg), "");
    EXPECT_THAT(svg, HasSubstr(">no points</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    given.series.points = {{3, kNaN, 1, 2}};
  }
}

TEST(AccuracyCurveSvgTest, OnePointAndFlatLinesHaveAxes) {
  for (const double accuracy : {0.0, 50.0, 91.3, 100.0}) {
    for (const std::size_t heads : {std::size_t{0}, std::size_t{143}}) {
      AccuracyCurve given{
          .series = {.points = {{heads, accuracy, accuracy, accuracy}}}};
      const std::string svg = accuracy_curve_svg(given).value();
      EXPECT_EQ(bad_xml(svg), "");
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
      EXPECT_EQ(count(svg, "<circle "), 1u);
    }
  }
}

// The numbers at the lines of the accuracies.
std::vector<double> accuracy_lines(const std::string& svg) {
  constexpr std::string_view kEnd = "text-anchor=\"end\">";
  std::vector<double> lines;
  for (std::size_t at = svg.find(kEnd); at != std::string::npos;
       at = svg.find(kEnd, at + 1)) {
    lines.push_back(std::stod(svg.substr(at + kEnd.size())));
  }
  return lines;
}

TEST(AccuracyCurveSvgTest, NoAxisGoesBeyondAllOrNothing) {
  for (const auto& [low, high] : {std::pair(92.0, 101.3),
                                  {99.9, 100.4},
                                  {100.0, 100.0},
                                  {-3.0, 7.0},
                                  {-1.0, 0.0},
                                  {-2.0, 102.0}}) {
    AccuracyCurve given = curve();
    const double middle = (low + high) / 2;
    given.series.points = {{0, middle, low, high}, {8, middle, low, high}};
    given.random.points = {{0, middle, low, high}};
    const std::string svg = accuracy_curve_svg(given).value();
    EXPECT_EQ(bad_xml(svg), "");
    const std::vector<double> lines = accuracy_lines(svg);
    ASSERT_GE(lines.size(), 2u) << low << " " << high;
    EXPECT_GE(lines.front(), 0) << low << " " << high;
    EXPECT_LE(lines.back(), 100) << low << " " << high;
  }
}

TEST(AccuracyCurveSvgTest, HostileTextStaysText) {
  for (const std::string& text :
       {std::string("</text><script>alert(1)</script>"),
        std::string(R"("/><image xlink:href="file:///etc/passwd"/>)"),
        std::string("\0\x01\xff\n", 4), std::string(3000, '&')}) {
    AccuracyCurve given = curve();
    given.title = given.subtitle = text;
    given.series.name = given.series.range = text;
    given.random.name = given.random.range = text;
    const std::string svg = accuracy_curve_svg(given).value();
    EXPECT_EQ(bad_xml(svg), "") << text;
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << text;
    EXPECT_THAT(svg, Not(HasSubstr("<image"))) << text;
  }
}

TEST(AccuracyCurveSvgTest, SpeaksKorean) {
  AccuracyCurve given = curve();
  given.language = Language::ko;
  const std::string svg = accuracy_curve_svg(given).value();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_THAT(svg, HasSubstr(">제거한 헤드 수</text>"));
  EXPECT_THAT(svg, HasSubstr(">정확도 (%)</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("heads")));
}

}  // namespace
}  // namespace headwise
