#include "headwise/inspect/heads_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "headwise/base/tensor.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::Not;

// What is wrong with the bytes as XML 1.0 characters; "" if nothing is.
std::string bad_characters(const std::string& text) {
  for (std::size_t n = 0; n < text.size();) {
    const auto lead = static_cast<unsigned char>(text[n]);
    const std::size_t bytes = lead < 0x80   ? 1
                              : lead < 0xC2 ? 0
                              : lead < 0xE0 ? 2
                              : lead < 0xF0 ? 3
                              : lead < 0xF5 ? 4
                                            : 0;
    char32_t code = bytes == 1 ? lead : lead & (0x7F >> bytes);
    if (bytes == 0 || n + bytes > text.size()) {
      return "no UTF-8 at byte " + std::to_string(n);
    }
    for (std::size_t k = 1; k < bytes; ++k) {
      const auto byte = static_cast<unsigned char>(text[n + k]);
      if (byte >> 6 != 2) {
        return "no UTF-8 at byte " + std::to_string(n + k);
      }
      code = code << 6 | (byte & 0x3F);
    }
    constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
    const bool allowed = code == '\n' || code == '\t' || code == '\r' ||
                         (code >= 0x20 && code < 0xD800) ||
                         (code >= 0xE000 && code < 0xFFFE) ||
                         (code >= 0x10000 && code < 0x110000);
    if (code < kSmallest[bytes] || !allowed) {
      return "forbidden character at byte " + std::to_string(n);
    }
    n += bytes;
  }
  return "";
}

// What is wrong with `text` as XML without comments and the like.
std::string bad_xml(const std::string& text) {
  if (std::string bad = bad_characters(text); !bad.empty()) {
    return bad;
  }
  static const std::regex token(
      R"(<([a-zA-Z]+)((?: [a-zA-Z][a-zA-Z0-9:-]*="[^"<]*")*) ?(/?)>)"
      R"(|</([a-zA-Z]+)>|[^<>]+)");
  static const std::regex entity(R"(&(?!(amp|lt|gt|quot);))");
  if (std::regex_search(text, entity)) {
    return "a & that is no entity";
  }
  std::vector<std::string> open;
  std::size_t end = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), token), last;
       at != last; ++at) {
    if (static_cast<std::size_t>(at->position()) != end) {
      return "no markup: " + text.substr(end, 40);
    }
    end += static_cast<std::size_t>(at->length());
    if ((*at)[4].matched) {
      if (open.empty() || open.back() != (*at)[4].str()) {
        return "wrong end: " + at->str();
      }
      open.pop_back();
    } else if ((*at)[1].matched && (*at)[3].length() == 0) {
      open.push_back((*at)[1].str());
    }
  }
  return end != text.size() ? "no markup: " + text.substr(end, 40)
         : open.empty()     ? ""
                            : "not closed: " + open.back();
}

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
    picture.attn_weights = std::as_const(weights).view();
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
  static const std::regex rect(
      R"re(fill="([^"]*)"><title>([^<]*)</title></rect>)re");
  std::vector<Cell> all;
  for (std::sregex_iterator at(svg.begin(), svg.end(), rect), last; at != last;
       ++at) {
    all.push_back({(*at)[1].str(), (*at)[2].str()});
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
  EXPECT_EQ(all[0].fill, "#440154");  // the ramp's ends
  EXPECT_EQ(all[23].fill, "#fde725");
  EXPECT_THAT(svg, HasSubstr(">head 1</text>"));
  EXPECT_THAT(svg, HasSubstr(">a title</title>"));
}

TEST(HeadsSvgTest, ExactlyTheMaskedCellsAreHatched) {
  Drawing drawing;
  for (std::size_t n = 0; n < 24; ++n) {
    drawing.allowed.data()[n] = n % 3 != 1;  // differs by head
  }
  drawing.picture.allowed = std::as_const(drawing.allowed).view();
  const std::vector<Cell> all = cells(heads_svg(drawing.picture).value());
  ASSERT_EQ(all.size(), 24u);
  for (std::size_t n = 0; n < 24; ++n) {
    EXPECT_EQ(all[n].fill == "url(#masked)", n % 3 == 1) << n;
    EXPECT_EQ(all[n].tip.ends_with(": masked"), n % 3 == 1) << n;
  }
}

TEST(HeadsSvgTest, WeightsThatAreNoNumbersDoNotSpoilThePicture) {
  Drawing drawing;
  drawing.weights.data()[0] = std::numeric_limits<float>::quiet_NaN();
  drawing.weights.data()[1] = std::numeric_limits<float>::infinity();
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
  drawing.picture.allowed = std::as_const(drawing.allowed).view();
  drawing.picture.language = Language::ko;
  const std::string svg = heads_svg(drawing.picture).value();
  EXPECT_EQ(bad_xml(svg), "");
  for (const char* word :
       {"헤드 1", "쿼리", "키 →", "어텐션 가중치", "가려짐"}) {
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
    picture.attn_weights = weights.view();
    picture.query_labels.resize(extents[1]);
    picture.key_labels.resize(extents[2]);
    EXPECT_EQ(bad_xml(heads_svg(picture).value()), "");
  }
}

TEST(HeadsSvgTest, LabelsAndMaskMustFit) {
  Drawing drawing;
  drawing.picture.query_labels.pop_back();
  EXPECT_EQ(heads_svg(drawing.picture).error().message,
            "heads_svg: query_labels has shape (2), expected (Lq) = (3)");
  drawing.picture.query_labels.emplace_back("q");
  drawing.picture.key_labels.emplace_back("k");
  EXPECT_EQ(heads_svg(drawing.picture).error().message,
            "heads_svg: key_labels has shape (5), expected (Lkv) = (4)");
  drawing.picture.key_labels.pop_back();
  const auto other = Tensor<bool, 3>::create({2, 4, 3}).value();
  drawing.picture.allowed = other.view();
  const Error error = heads_svg(drawing.picture).error();
  EXPECT_EQ(error.code, ErrorCode::shape_mismatch);
  EXPECT_EQ(error.message,
            "heads_svg: allowed has shape (2, 4, 3), expected (H, Lq, Lkv) = "
            "(2, 3, 4)");
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
  const auto large = draw(41, 100);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::out_of_range);
  EXPECT_EQ(large.error().message,
            "heads_svg: H * Lq * Lkv is 410000, expected at most 400000 cells");
  // 2^62 * 2 * 2 wraps round to 0.
  EXPECT_EQ(draw(std::size_t{1} << 62, 2).error().message,
            "heads_svg: H * Lq * Lkv is beyond 64 bits, expected at most "
            "400000 cells");
}

}  // namespace
}  // namespace headwise
