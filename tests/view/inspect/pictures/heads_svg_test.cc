
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/tensor.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/bad_xml.h"
#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/svg_images.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// A picture of 2 heads, 3 queries and 4 keys: weight 0.01 * (12 h + 4 i + j).
struct Drawing {
  Tensor<float, 3> weights = Tensor<float, 3>::create({2, 3, 4}).value();
  Tensor<bool, 3> allowed = Tensor<bool, 3>::create({2, 3, 4}).value();
  HeadsPicture picture;

  Drawing() {
    for (std::size_t n = 0; n < 24; ++n) {
      weights.data()[n] = static_cast<float>(n) / 100;
      allowed.data()[n] = true;
    }
    picture.attn_weights = weights;
    picture.query_labels = {"q0", "q1", "q2"};
    picture.key_labels = {"k0", "k1", "k2", "k3"};
    picture.title = "a title";
  }
};

struct Cell {
  std::string fill;
  std::string tip;
};

// Those of the heads, in order: only they have a tip.
std::vector<Cell> cells(const std::string& svg) {
  constexpr std::string_view kBetween = "\"><title>";
  constexpr std::string_view kEnd = "</title></rect>";
  std::vector<Cell> all;
  for (std::size_t at = svg.find(kBetween); at != std::string::npos;
       at = svg.find(kBetween, at + 1)) {
    const std::size_t fill = svg.rfind('"', at - 1) + 1;
    const std::size_t tip = at + kBetween.size();
    const std::size_t end = svg.find(kEnd, tip);
    if (end != std::string::npos) {
      all.push_back({svg.substr(fill, at - fill), svg.substr(tip, end - tip)});
    }
  }
  return all;
}

TEST(HeadsSvgTest, OneCellForEachWeightWithTokensAndNumber) {
  const Drawing drawing;
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_EQ(bad_xml(svg), "");
  const std::vector<Cell> all = cells(svg);
  ASSERT_EQ(all.size(), 24u);
  EXPECT_EQ(all[0].tip, "q0 → k0: 0");
  EXPECT_EQ(all[12 + 4 + 2].tip, "q1 → k2: 0.18");
  EXPECT_EQ(all[0].fill, "#440154");  // where the ramp begins
  EXPECT_THAT(svg, HasSubstr(">head 1</text>"));
  EXPECT_THAT(svg, HasSubstr(">a title</title>"));
}

TEST(HeadsSvgTest, ColoursAreTheRootOfTheWeightUpToOneOrTheLargest) {
  Drawing drawing;
  const std::vector<Cell> all = cells(heads_svg(drawing.picture).value());
  drawing.picture.fit = true;
  const std::vector<Cell> fitted = cells(heads_svg(drawing.picture).value());
  for (std::size_t n = 0; n < 24; ++n) {
    const double weight = drawing.weights.data()[n];
    const double largest = drawing.weights.data()[23];
    EXPECT_EQ(all[n].fill, colour_text(heat_colour(std::sqrt(weight))));
    EXPECT_EQ(fitted[n].fill,
              colour_text(heat_colour(std::sqrt(weight / largest))));
  }
}

TEST(HeadsSvgTest, TheLegendHasTheNumbersOfItsColours) {
  Drawing drawing;
  const auto has_ticks = [&](std::initializer_list<const char*> ticks) {
    const std::string svg = heads_svg(drawing.picture).value();
    EXPECT_EQ(bad_xml(svg), "");
    for (const char* tick : ticks) {
      EXPECT_THAT(svg, HasSubstr(">" + std::string(tick) + "</text>"));
    }
  };
  has_ticks({"0", "0.1", "0.25", "0.5", "1"});
  drawing.picture.fit = true;  // up to 0.23
  has_ticks({"0", "0.023", "0.092", "0.23"});
}

TEST(HeadsSvgTest, TheLegendSaysMaskedWhereSomethingIs) {
  Drawing drawing;
  EXPECT_THAT(heads_svg(drawing.picture).value(), Not(HasSubstr("masked<")));
  drawing.picture.allowed = drawing.allowed;
  EXPECT_THAT(heads_svg(drawing.picture).value(), Not(HasSubstr("masked<")));
  drawing.allowed.data()[7] = false;
  EXPECT_THAT(heads_svg(drawing.picture).value(), HasSubstr(">masked</text>"));
}

TEST(HeadsSvgTest, ExactlyTheMaskedCellsAreHatched) {
  Drawing drawing;
  for (std::size_t n = 0; n < 24; ++n) {
    drawing.allowed.data()[n] = n % 5 != 1;  // differs by head
  }
  drawing.picture.allowed = drawing.allowed;
  const std::vector<Cell> all = cells(heads_svg(drawing.picture).value());
  ASSERT_EQ(all.size(), 24u);
  for (std::size_t n = 0; n < 24; ++n) {
    EXPECT_EQ(all[n].fill == "url(#masked)", n % 5 == 1) << n;
    EXPECT_EQ(all[n].tip.ends_with(": masked"), n % 5 == 1) << n;
  }
}

TEST(HeadsSvgTest, WeightsThatAreNoNumbersDoNotSpoilThePicture) {
  Drawing drawing;
  drawing.weights.data()[0] = std::numeric_limits<float>::quiet_NaN();
  drawing.weights.data()[1] = std::numeric_limits<float>::infinity();
  drawing.picture.fit = true;
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_EQ(bad_xml(svg), "");
  const std::vector<Cell> all = cells(svg);
  EXPECT_EQ(all[0].fill, "#ff00ff");
  EXPECT_EQ(all[1].fill, "#fde725");
  EXPECT_EQ(all[23].fill, "#fde725");  // still the largest number
}

TEST(HeadsSvgTest, HostileLabelsStayText) {
  const std::vector<std::string> hostile = {
      "</text><script>alert(1)</script>",
      "\"/><script>",
      "&amp;&#x1b;]]>",
      "<!-- & -->",
      "'\" onload=\"alert(1)",
      std::string("\0\x01\x1b[31m\n\r\t\x7f", 11),
      "한국어 é 😀",
  };
  for (const std::string& label : hostile) {
    Drawing drawing;
    drawing.picture.query_labels[1] = label;
    drawing.picture.key_labels[3] = label;
    drawing.picture.title = label;
    const std::string svg = heads_svg(drawing.picture).value();
    EXPECT_EQ(bad_xml(svg), "") << label;
    EXPECT_THAT(svg, Not(HasSubstr("<script"))) << label;
    EXPECT_EQ(cells(svg).size(), 24u) << label;
  }
}

TEST(HeadsSvgTest, LabelsThatAreNoUtf8BecomeReplacementCharacters) {
  const std::vector<std::string> broken = {
      "\xff",              // never in UTF-8
      "a\xC3",             // cut
      "\xED\x95",          // cut
      "\x80z",             // a byte that only follows
      "\xC0\xAF",          // overlong '/'
      "\xE0\x80\xAF",      // overlong
      "\xF0\x80\x80\xAF",  // overlong
      "\xED\xA0\x80",      // a surrogate
      "\xEF\xBF\xBE",      // U+FFFE
      "\xEF\xBF\xBF",      // U+FFFF
      "\xF4\x90\x80\x80",  // beyond U+10FFFF
      "\xF5\x80\x80\x80",
      "\xC3<",  // must not swallow the markup
      "\xF0\x9F\x98\"",
  };
  for (const std::string& label : broken) {
    Drawing drawing;
    drawing.picture.query_labels[0] = label;
    drawing.picture.key_labels[0] = label;
    drawing.picture.title = label;
    const std::string svg = heads_svg(drawing.picture).value();
    EXPECT_EQ(bad_xml(svg), "") << testing::PrintToString(label);
    EXPECT_THAT(svg, HasSubstr("\xEF\xBF\xBD"));
  }
}

TEST(HeadsSvgTest, SpeaksBothLanguages) {
  Drawing drawing;
  drawing.allowed.data()[0] = false;
  drawing.picture.allowed = drawing.allowed;
  drawing.picture.language = Language::ko;
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_EQ(bad_xml(svg), "");
  for (const char* word :
       {"헤드 1", "쿼리", "키 →", "어텐션 가중치", "마스킹됨"}) {
    EXPECT_THAT(svg, HasSubstr(word));
  }
  EXPECT_THAT(svg, Not(HasSubstr("masked<")));
  EXPECT_THAT(svg, Not(HasSubstr("head ")));
}

TEST(HeadsSvgTest, NoHeadsQueriesOrKeysIsAPictureToo) {
  for (const Extents<3>& extents :
       {Extents<3>{0, 0, 0}, {2, 0, 3}, {2, 3, 0}, {1, 0, 0}}) {
    const auto weights = Tensor<float, 3>::create(extents).value();
    HeadsPicture picture;
    picture.attn_weights = weights;
    picture.query_labels.resize(extents[1]);
    picture.key_labels.resize(extents[2]);
    EXPECT_EQ(bad_xml(heads_svg(picture).value()), "");
  }
}

// The picture is refused: the error is about this argument and names these
// values.
auto IsRefused(ErrorCode code, std::string argument, std::string given,
               std::string expected) {
  return HasError({.code = code,
                   .operation = "heads_svg",
                   .argument = std::move(argument),
                   .given = {std::move(given)},
                   .expected = {std::move(expected)}});
}

TEST(HeadsSvgTest, LabelsAndMaskMustFit) {
  Drawing drawing;
  drawing.picture.query_labels.pop_back();
  EXPECT_THAT(
      heads_svg(drawing.picture),
      IsRefused(ErrorCode::shape_mismatch, "query_labels", "(2)", "(3)"));
  drawing.picture.query_labels.emplace_back("q");
  drawing.picture.key_labels.emplace_back("k");
  EXPECT_THAT(heads_svg(drawing.picture),
              IsRefused(ErrorCode::shape_mismatch, "key_labels", "(5)", "(4)"));
  drawing.picture.key_labels.pop_back();
  const auto other = Tensor<bool, 3>::create({2, 4, 3}).value();
  drawing.picture.allowed = other;
  EXPECT_THAT(heads_svg(drawing.picture),
              IsRefused(ErrorCode::shape_mismatch, "allowed", "(2, 4, 3)",
                        "(2, 3, 4)"));
}

// One head of 150 queries and keys, more than are drawn as rectangles.
struct LongDrawing {
  static constexpr std::size_t kLength = 150;
  Tensor<float, 3> weights =
      Tensor<float, 3>::create({1, kLength, kLength}).value();
  Tensor<bool, 3> allowed =
      Tensor<bool, 3>::create({1, kLength, kLength}).value();
  HeadsPicture picture;

  LongDrawing() {
    weights.view()(0, 2, 1) = 0.5;
    weights.view()(0, 3, 0) = 0.125;  // the root of its share is a half
    weights.view()(0, 149, 0) = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < kLength; ++i) {
      for (std::size_t j = 0; j < kLength; ++j) {
        allowed.view()(0, i, j) = j <= i;
      }
    }
    picture.attn_weights = weights;
    picture.allowed = allowed;
    for (std::size_t n = 0; n < kLength; ++n) {
      picture.query_labels.push_back("q" + std::to_string(n));
      picture.key_labels.push_back("k" + std::to_string(n));
    }
    picture.title = "<&>";
    picture.fit = true;
  }
};

TEST(HeadsSvgTest, ManyCellsAreAnImageOfEachHead) {
  const LongDrawing drawing;
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_EQ(bad_xml(svg), "");
  EXPECT_TRUE(cells(svg).empty());
  const std::vector<SvgImage> images = svg_images(svg);
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].tip, "head 0");
  const PngPixels& pixels = images[0].pixels;
  constexpr std::size_t kLength = LongDrawing::kLength;
  ASSERT_EQ(pixels.rows, 2 * kLength);  // as it is drawn
  ASSERT_EQ(pixels.columns, 2 * kLength);
  for (std::size_t i = 0; i < pixels.rows; ++i) {
    for (std::size_t j = 0; j < pixels.columns; ++j) {
      const std::size_t query = i / 2;
      const std::size_t key = j / 2;
      ASSERT_EQ(pixels.opacity(i, j), key <= query ? 255 : 0) << i << ", " << j;
      const auto cell = std::pair(query, key);
      const Rgb expected = cell == std::pair(2ul, 1ul)     ? heat_colour(1)
                           : cell == std::pair(3ul, 0ul)   ? heat_colour(0.5)
                           : cell == std::pair(149ul, 0ul) ? kNoNumberColour
                                                           : heat_colour(0);
      if (key <= query) {
        ASSERT_EQ(pixels.at(i, j), expected) << i << ", " << j;
      }
    }
  }
}

TEST(HeadsSvgTest, MaskedCellsOfAnImageShowTheHatching) {
  LongDrawing drawing;
  const std::string box = R"(x="74" y="140" width="300" height="300")";
  EXPECT_THAT(
      heads_svg(drawing.picture).value(),
      HasSubstr("<rect " + box + " fill=\"url(#masked)\"/>\n<image " + box));
  drawing.picture.allowed = {};
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_THAT(svg, Not(HasSubstr("<rect " + box + " fill=\"url(#masked)\"")));
  EXPECT_EQ(svg_images(svg).at(0).pixels.opacity(0, 299), 255);
}

TEST(HeadsSvgTest, ImagesAreAsFineAsTheZoom) {
  LongDrawing drawing;
  for (const auto& [zoom, pixels] :
       {std::pair(3.0, 900u), {1.4, 450u}, {0.1, 150u}}) {
    drawing.picture.zoom = zoom;
    const auto images = svg_images(heads_svg(drawing.picture).value());
    EXPECT_EQ(images.at(0).pixels.rows, pixels) << zoom;
    EXPECT_EQ(images.at(0).pixels.columns, pixels) << zoom;
  }
  for (const double zoom : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    drawing.picture.zoom = zoom;
    EXPECT_EQ(heads_svg(drawing.picture).error().code(),
              ErrorCode::invalid_argument);
  }
}

TEST(HeadsSvgTest, AnImageOfFewQueriesIsNoLine) {
  const Tensor<float, 3> weights =
      Tensor<float, 3>::create({2, 1, 11000}).value();
  HeadsPicture picture;
  picture.attn_weights = weights;
  picture.query_labels.resize(1);
  picture.key_labels.resize(11000);
  const auto images = svg_images(heads_svg(picture).value());
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1].tip, "head 1");
  EXPECT_EQ(images[1].pixels.rows, 26u);
  EXPECT_EQ(images[1].pixels.columns, 11000u);
}

TEST(HeadsSvgTest, TooManyCellsAreRefused) {
  const float one = 1;
  HeadsPicture picture;
  const auto draw = [&](std::size_t heads, std::size_t length) {
    // One number, repeated.
    picture.attn_weights =
        TensorView<const float, 3>(&one, {heads, length, length}, {0, 0, 0});
    picture.query_labels.assign(length, "");
    picture.key_labels.assign(length, "");
    return heads_svg(picture);
  };
  EXPECT_TRUE(draw(1, 100));
  EXPECT_TRUE(draw(1, 1024));
  const std::string cells = "H * Lq * Lkv";
  EXPECT_THAT(draw(257, 256), IsRefused(ErrorCode::out_of_range, cells,
                                        "16842752", "16777216"));
  // 2^62 * 2 * 2 wraps round to 0.
  EXPECT_THAT(draw(std::size_t{1} << 62, 2),
              IsRefused(ErrorCode::out_of_range, cells, "64", "16777216"));
  EXPECT_THAT(
      draw(std::size_t{1} << 62, 0),
      IsRefused(ErrorCode::out_of_range, "H", "4611686018427387904", "4096"));
}

TEST(HeadsSvgTest, MoreKeysThanAnImageHoldsAreAnError) {
  const float one = 1;
  HeadsPicture picture;
  picture.attn_weights =
      TensorView<const float, 3>(&one, {1, 1, 1000001}, {0, 0, 0});
  picture.query_labels.resize(1);
  picture.key_labels.resize(1000001);
  EXPECT_THAT(heads_svg(picture), HasError({.code = ErrorCode::unsupported,
                                            .operation = "heads_svg",
                                            .argument = "image",
                                            .given = {"1 x 1000001"}}));
}

}  // namespace
}  // namespace headwise::testing_support
