
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "inspect/pictures/bad_xml.h"
#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/svg_images.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Two layers of three heads, each with the map
//   0.4   NaN
//   0     0.1
struct Grid {
  std::array<float, 4> weights = {0.4F, kNaN, 0, 0.1F};
  std::vector<GridHead> heads;
  HeadsGridPicture picture;

  Grid() {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (std::size_t head = 0; head < 3; ++head) {
        heads.push_back({layer, head, false, map(2, 2),
                         "note " + std::to_string(3 * layer + head)});
      }
    }
    picture.heads = heads;
    picture.title = "all heads";
    picture.subtitle = "of a model";
  }
  TensorView<const float, 2> map(std::size_t rows, std::size_t columns) const {
    return {weights.data(), {rows, columns}};
  }
  std::string draw() const { return heads_grid_svg(picture).value(); }
};

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

TEST(HeadsGridSvgTest, EachHeadIsAnImageWithItsNameItsNoteAndItsLargest) {
  const Grid grid;
  const std::string svg = grid.draw();
  EXPECT_EQ(bad_xml(svg), "");
  const std::vector<SvgImage> images = svg_images(svg);
  ASSERT_EQ(images.size(), 6u);
  EXPECT_EQ(images[0].tip, "layer 0, head 0: note 0; largest 0.4");
  EXPECT_EQ(images[5].tip, "layer 1, head 2: note 5; largest 0.4");
  EXPECT_THAT(svg, HasSubstr(">all heads</text>"));
  EXPECT_THAT(svg, HasSubstr(">of a model</text>"));
  EXPECT_THAT(svg, HasSubstr(">note 4</text>"));
}

TEST(HeadsGridSvgTest, ColoursAreTheRootOfTheWeight) {
  Grid grid;
  grid.weights = {1, kNaN, 0, 0.25F};
  const PngPixels pixels = svg_images(grid.draw()).at(0).pixels;
  EXPECT_EQ(pixels.at(0, 0), heat_colour(1));
  EXPECT_EQ(pixels.at(95, 0), heat_colour(0));
  EXPECT_EQ(pixels.at(95, 95), heat_colour(0.5));
  for (const char* tick : {"0.1", "0.25", "1"}) {
    EXPECT_THAT(grid.draw(), HasSubstr(">" + std::string(tick) + "</text>"));
  }
  EXPECT_THAT(grid.draw(), Not(HasSubstr(">40%</text>")));
}

TEST(HeadsGridSvgTest, FittedColoursAreTheRootOfTheShareOfTheLargest) {
  Grid grid;
  grid.picture.fit = true;
  EXPECT_THAT(grid.draw(), HasSubstr(">40%</text>"));
  const PngPixels pixels = svg_images(grid.draw()).at(0).pixels;
  constexpr std::size_t kCell = 48;  // 96 pixels in all
  ASSERT_EQ(pixels.rows, 2 * kCell);
  ASSERT_EQ(pixels.columns, 2 * kCell);
  for (std::size_t i = 0; i < pixels.rows; ++i) {
    for (std::size_t j = 0; j < pixels.columns; ++j) {
      const bool lower = i >= kCell;
      const bool right = j >= kCell;
      // sqrt(0.1 / 0.4) is a half; NaN is grey, not the colour of 0.
      const Rgb expected = right ? (lower ? heat_colour(0.5) : kMaskedColour)
                                 : heat_colour(lower ? 0 : 1);
      ASSERT_EQ(pixels.at(i, j), expected) << i << ", " << j;
    }
  }
  EXPECT_THAT(grid.draw(), HasSubstr(">masked</text>"));
}

TEST(HeadsGridSvgTest, LinesAreLayersAndColumnsHeads) {
  Grid grid;
  const std::string svg = grid.draw();
  for (const char* name :
       {"layer 0", "layer 1", "head 0", "head 1", "head 2"}) {
    EXPECT_EQ(count(svg, ">" + std::string(name) + "</text>"), 1u) << name;
  }
  // Some heads only: places that nobody has stay empty.
  grid.heads.erase(grid.heads.begin() + 1, grid.heads.begin() + 4);
  grid.picture.heads = grid.heads;  // 0.0, 1.1, 1.2
  const std::string some = grid.draw();
  const std::vector<SvgImage> images = svg_images(some);
  ASSERT_EQ(images.size(), 3u);
  EXPECT_THAT(some, HasSubstr(">head 2</text>"));
  EXPECT_THAT(images[0].attributes, StartsWith(R"(<image x="87" y="94")"));
  EXPECT_THAT(images[1].attributes, StartsWith(R"(<image x="197" y="218")"));
  EXPECT_THAT(images[2].attributes, StartsWith(R"(<image x="307" y="218")"));
}

TEST(HeadsGridSvgTest, HeadsInAnotherOrderFollowOneAnotherByName) {
  Grid grid;
  std::swap(grid.heads.front(), grid.heads.back());
  const std::string svg = grid.draw();
  const std::vector<SvgImage> images = svg_images(svg);
  ASSERT_EQ(images.size(), 6u);
  EXPECT_THAT(images[0].tip, StartsWith("layer 1, head 2"));
  EXPECT_THAT(images[5].tip, StartsWith("layer 0, head 0"));
  EXPECT_THAT(svg, HasSubstr(">layer 1, head 2</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">layer 1</text>")));
  EXPECT_EQ(bad_xml(svg), "");
}

TEST(HeadsGridSvgTest, PrunedHeadsAreHatchedAndNeedNoMap) {
  Grid grid;
  EXPECT_EQ(count(grid.draw(), "url(#pruned)"), 0u);
  grid.heads[4].pruned = true;
  grid.heads[4].map = {};
  const std::string svg = grid.draw();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_EQ(svg_images(svg).size(), 5u);
  EXPECT_EQ(count(svg, "url(#pruned)"), 2u);  // and in the legend
  EXPECT_THAT(svg, HasSubstr("<title>layer 1, head 1: note 4; pruned</title>"));
  for (GridHead& head : grid.heads) {
    head.pruned = true;
    head.map = {};
  }
  const std::string none = grid.draw();
  EXPECT_EQ(count(none, "url(#pruned)"), 7u);
  EXPECT_EQ(count(none, R"x(width="96" height="96" fill="url(#pruned)")x"), 6u);
  EXPECT_THAT(none, Not(HasSubstr(">masked</text>")));
}

TEST(HeadsGridSvgTest, HostileTextStaysText) {
  for (const std::string& text :
       {std::string("</text><script>alert(1)</script>"),
        std::string(R"("/><image xlink:href="file:///etc/passwd"/>)"),
        std::string("&#x1b;]]>"), std::string("\0\x01\xff\n", 4),
        std::string(3000, '<')}) {
    Grid grid;
    grid.heads[0].note = text;
    grid.heads[1].note = text;
    grid.heads[1].pruned = true;
    grid.picture.title = text;
    grid.picture.subtitle = text;
    const std::string svg = grid.draw();
    EXPECT_EQ(bad_xml(svg), "") << text;
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << text;
    EXPECT_EQ(svg_images(svg).size(), 5u) << text;
  }
}

TEST(HeadsGridSvgTest, LongNotesAreCutBetweenCharacters) {
  Grid grid;
  grid.heads[0].note = "이전 토큰을 보는 헤드이고 다른 것은 보지 않음";
  const std::string svg = grid.draw();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_THAT(svg, HasSubstr(">이전 토큰을 보는 헤드이…</text>"));
  EXPECT_THAT(svg_images(svg).at(0).tip, HasSubstr(grid.heads[0].note));
}

TEST(HeadsGridSvgTest, SpeaksKorean) {
  Grid grid;
  grid.picture.language = Language::ko;
  grid.heads[0].pruned = true;
  const std::string svg = grid.draw();
  EXPECT_EQ(bad_xml(svg), "");
  for (const char* word :
       {">레이어 1<", ">헤드 2<", "레이어 1 헤드 2: ", ">마스킹됨<",
        ">가지치기됨<", "어텐션 가중치", "최댓값"}) {
    EXPECT_THAT(svg, HasSubstr(word));
  }
  for (const char* word : {"layer ", "head ", "masked", "largest"}) {
    EXPECT_THAT(svg, Not(HasSubstr(word)));
  }
}

TEST(HeadsGridSvgTest, WeightsThatAreNoNumbersDoNotSpoilThePicture) {
  Grid grid;
  grid.picture.fit = true;
  grid.weights = {std::numeric_limits<float>::infinity(), -1, kNaN, 0};
  PngPixels pixels = svg_images(grid.draw()).at(0).pixels;
  EXPECT_EQ(pixels.at(0, 95), heat_colour(0));
  EXPECT_EQ(pixels.at(95, 0), kMaskedColour);
  grid.weights = {kNaN, kNaN, kNaN, kNaN};
  pixels = svg_images(grid.draw()).at(0).pixels;
  EXPECT_EQ(pixels.at(0, 0), kMaskedColour);
}

TEST(HeadsGridSvgTest, ImagesAreAsFineAsTheZoom) {
  const std::vector<float> weights(std::size_t{64} * 64, 0.5F);
  const GridHead head{7, 3, false, {weights.data(), {64, 64}}, ""};
  HeadsGridPicture picture;
  picture.heads = std::span(&head, 1);
  const auto pixels = [&](double zoom) {
    picture.zoom = zoom;
    return svg_images(heads_grid_svg(picture).value()).at(0).pixels.rows;
  };
  EXPECT_EQ(pixels(1), 128u);
  EXPECT_EQ(pixels(2), 256u);
  EXPECT_EQ(pixels(0.01), 64u);
  picture.zoom = kNaN;
  EXPECT_THAT(heads_grid_svg(picture),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "heads_grid_svg",
                        .argument = "zoom",
                        .given = {"nan"},
                        .expected = {"0"}}));
}

TEST(HeadsGridSvgTest, NoHeadsAndMapsThatAreTooLargeAreErrors) {
  EXPECT_THAT(heads_grid_svg({}), HasError({.code = ErrorCode::invalid_argument,
                                            .operation = "heads_grid_svg",
                                            .argument = "heads",
                                            .given = {"0"},
                                            .expected = {"1"}}));
  const std::vector<float> weights(std::size_t{65} * 65);
  for (const auto& [rows, columns] :
       {std::pair(65, 64), {64, 65}, {0, 1}, {1, 0}}) {
    Grid grid;
    grid.heads[4].map = {
        weights.data(),
        {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)}};
    const auto svg = heads_grid_svg(grid.picture);
    ASSERT_FALSE(svg) << rows << " x " << columns;
    EXPECT_EQ(svg.error().code(), ErrorCode::out_of_range);
    EXPECT_EQ(svg.error().details().argument, "heads[4].map");
  }
}

}  // namespace
}  // namespace headwise::testing_support
