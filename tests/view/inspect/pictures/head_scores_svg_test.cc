#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "inspect/pictures/bad_xml.h"
#include "inspect/pictures/heat_colour.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

// Three layers of 3, 0 and 2 heads, one of which was pruned.
HeadScores scores() {
  return {.title = "Taylor importance",
          .subtitle = "of a model",
          .scores = {{0.5, 0.0123456, 2}, {}, {kPrunedHead, 1.234e-5}},
          .removed = {{0, 1}}};
}

TEST(HeadScoresSvgTest, EachHeadIsACellWithItsNumberAndItsName) {
  const std::string svg = head_scores_svg(scores()).value();
  EXPECT_EQ(bad_xml(svg), "");
  for (const char* number : {"0.500", "0.0123", "2.00", "1.23e-5"}) {
    EXPECT_THAT(svg, HasSubstr(">" + std::string(number) + "</text>"));
  }
  for (const char* tip :
       {"layer 0, head 0: 0.500", "layer 0, head 1: 0.0123; removed",
        "layer 2, head 0: pruned", "layer 2, head 1: 1.23e-5"}) {
    EXPECT_THAT(svg, HasSubstr("<title>" + std::string(tip) + "</title>"));
  }
  for (const char* name : {"layer 0", "layer 1", "layer 2", "head 0", "head 1",
                           "head 2", "Taylor importance", "of a model"}) {
    EXPECT_EQ(count(svg, ">" + std::string(name) + "</text>"), 1u) << name;
  }
}

TEST(HeadScoresSvgTest, ColoursGoEvenlyFromTheLeastToTheLargest) {
  const std::string svg = head_scores_svg({.scores = {{-1, 0, 3}}}).value();
  for (const auto& [share, name] : {std::pair(0.0, "head 0: -1.00"),
                                    {0.25, "head 1: 0"},
                                    {1.0, "head 2: 3.00"}}) {
    const Rgb colour = heat_colour(share);
    EXPECT_THAT(svg, HasSubstr("fill=\"" + colour_text(colour) +
                               "\"><title>layer 0, " + name));
    EXPECT_THAT(svg, HasSubstr("fill=\"" + colour_text(ink_on(colour)) + "\""));
  }
  // The legend.
  EXPECT_EQ(count(svg, ">-1.00</text>"), 2u);
  EXPECT_EQ(count(svg, ">3.00</text>"), 2u);
}

TEST(HeadScoresSvgTest, PrunedHeadsAreHatchedAndRemovedOnesMarked) {
  const std::string svg = head_scores_svg(scores()).value();
  EXPECT_EQ(count(svg, "url(#pruned)"), 2u);        // and in the legend
  EXPECT_EQ(count(svg, "stroke=\"#c00000\""), 2u);  // likewise
  EXPECT_THAT(svg, HasSubstr(">pruned</text>"));
  EXPECT_THAT(svg, HasSubstr(">removed</text>"));
  HeadScores plain = scores();
  plain.removed = {{2, 0}, {1, 0}, {9, 9}};  // none that has a number
  plain.scores[0][1] = 1;
  const std::string unmarked = head_scores_svg(plain).value();
  EXPECT_EQ(count(unmarked, "stroke=\"#c00000\""), 0u);
  EXPECT_THAT(unmarked, Not(HasSubstr("removed")));
}

TEST(HeadScoresSvgTest, ThoseWhoDoNotSeeItAreToldToo) {
  EXPECT_THAT(head_scores_svg(scores()).value(),
              HasSubstr("<title>Taylor importance</title>\n<desc>Heads with a "
                        "value: 4. Layers: 3. Smallest: 1.23e-5 (layer 2, head "
                        "1). Largest: 2.00 (layer 0, head 2). pruned: 1. "
                        "removed: 1.</desc>"));
}

TEST(HeadScoresSvgTest, WithoutANumberItSaysSo) {
  for (const std::vector<std::vector<double>>& none :
       {std::vector<std::vector<double>>{},
        {{}, {}},
        {{kPrunedHead}, {kPrunedHead}}}) {
    const std::string svg =
        head_scores_svg({.title = "none", .scores = none}).value();
    EXPECT_EQ(bad_xml(svg), "");
    EXPECT_THAT(svg, HasSubstr(">no head has a value</text>"));
    EXPECT_THAT(svg, HasSubstr("<desc>no head has a value</desc>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
}

TEST(HeadScoresSvgTest, EqualAndInfiniteNumbersHaveColours) {
  const std::string alike = head_scores_svg({.scores = {{7, 7}}}).value();
  EXPECT_EQ(
      count(alike, "fill=\"" + colour_text(heat_colour(0.5)) + "\"><title>"),
      2u);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string svg =
      head_scores_svg({.scores = {{kInfinity, 1, 2}}}).value();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_THAT(svg, HasSubstr("fill=\"" + colour_text(kNoNumberColour) +
                             "\"><title>layer 0, head 0: inf"));
  EXPECT_THAT(svg, HasSubstr("fill=\"" + colour_text(heat_colour(1)) +
                             "\"><title>layer 0, head 2: 2.00"));
  EXPECT_EQ(bad_xml(head_scores_svg({.scores = {{-kInfinity}}}).value()), "");
}

TEST(HeadScoresSvgTest, NumbersHaveThreeDigits) {
  for (const auto& [number, digits] : {std::pair(0.0, "0"),
                                       {123.4, "123"},
                                       {12.34, "12.3"},
                                       {1e5, "1.00e5"},
                                       {-0.1, "-0.100"},
                                       {9.999e-10, "1.00e-9"},
                                       {1e-123, "1.00e-123"}}) {
    EXPECT_THAT(head_scores_svg({.scores = {{number}}}).value(),
                HasSubstr("head 0: " + std::string(digits) + "</title>"));
  }
}

TEST(HeadScoresSvgTest, HostileTextStaysText) {
  for (const std::string& text :
       {std::string("</text><script>alert(1)</script>"),
        std::string(R"("/><image xlink:href="file:///etc/passwd"/>)"),
        std::string("\0\x01\xff\n", 4), std::string(3000, '&')}) {
    HeadScores given = scores();
    given.title = given.subtitle = text;
    const std::string svg = head_scores_svg(given).value();
    EXPECT_EQ(bad_xml(svg), "") << text;
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << text;
    EXPECT_THAT(svg, Not(HasSubstr("<image"))) << text;
  }
}

TEST(HeadScoresSvgTest, SpeaksKorean) {
  HeadScores given = scores();
  given.language = Language::ko;
  const std::string svg = head_scores_svg(given).value();
  EXPECT_EQ(bad_xml(svg), "");
  for (const char* word :
       {">레이어 2<", ">헤드 1<", "레이어 0 헤드 1: 0.0123; 제거",
        ">가지치기됨<", ">제거됨<", "최솟값", "최댓값"}) {
    EXPECT_THAT(svg, HasSubstr(word));
  }
  for (const char* word : {"layer ", "head ", "pruned<", "removed", "least"}) {
    EXPECT_THAT(svg, Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace headwise
