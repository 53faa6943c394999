#include "headwise/inspect/heads_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
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

// Reads a tag after its '<': its name, and whether it is <a>, </a> or <a/>.
// Attributes must be name="value" without markup in the value.
struct Tag {
  std::string name;
  char kind = '?';  // '<' opens, '/' ends, '-' does both, '?' is no tag
};
Tag read_tag(std::string_view& rest) {
  Tag tag;
  const bool end = rest.starts_with('/');
  rest.remove_prefix(end ? 1 : 0);
  const auto name = [&] {
    const std::size_t length = std::min(
        rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                               "UVWXYZ0123456789-:"),
        rest.size());
    std::string text(rest.substr(0, length));
    rest.remove_prefix(length);
    return text;
  };
  tag.name = name();
  while (rest.starts_with(' ')) {
    rest.remove_prefix(1);
    if (rest.starts_with('>') || rest.starts_with('/')) {
      break;
    }
    const std::string attribute = name();
    if (attribute.empty() || !rest.starts_with("=\"")) {
      return {};
    }
    rest.remove_prefix(2);
    const std::size_t stop = rest.find_first_of("\"<>");
    if (stop == std::string_view::npos || rest[stop] != '"') {
      return {};
    }
    rest.remove_prefix(stop + 1);
  }
  const bool both = !end && rest.starts_with("/>");
  rest.remove_prefix(both ? 1 : 0);
  if (!rest.starts_with('>') || tag.name.empty()) {
    return {};
  }
  rest.remove_prefix(1);
  tag.kind = both ? '-' : end ? '/' : '<';
  return tag;
}

// What is wrong with `text` as XML without comments and the like.
std::string bad_xml(std::string_view text) {
  if (std::string bad = bad_characters(std::string(text)); !bad.empty()) {
    return bad;
  }
  for (std::size_t at = text.find('&'); at != std::string_view::npos;
       at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at);
    if (!rest.starts_with("&amp;") && !rest.starts_with("&lt;") &&
        !rest.starts_with("&gt;") && !rest.starts_with("&quot;")) {
      return "a & that is no entity";
    }
  }
  std::vector<std::string> open;
  while (!text.empty()) {
    const std::size_t markup = std::min(text.find_first_of("<>"), text.size());
    text.remove_prefix(markup);
    if (text.empty()) {
      break;
    }
    const std::string here(text.substr(0, 40));
    if (text.front() == '>') {
      return "a lone >: " + here;
    }
    text.remove_prefix(1);
    const Tag tag = read_tag(text);
    if (tag.kind == '?') {
      return "no tag: " + here;
    }
    if (tag.kind == '<') {
      open.push_back(tag.name);
    } else if (tag.kind == '/') {
      if (open.empty() || open.back() != tag.name) {
        return "wrong end: " + here;
      }
      open.pop_back();
    }
  }
  return open.empty() ? "" : "not closed: " + open.back();
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
  EXPECT_EQ(all[0].fill, "#440154");  // the ramp's ends
  EXPECT_EQ(all[23].fill, "#fde725");
  EXPECT_THAT(svg, HasSubstr(">head 1</text>"));
  EXPECT_THAT(svg, HasSubstr(">a title</title>"));
}

TEST(HeadsSvgTest, ExactlyTheMaskedCellsAreHatched) {
  Drawing drawing;
  for (std::size_t n = 0; n < 24; ++n) {
    drawing.allowed.data()[n] = n % 5 != 1;  // differs by head
  }
  drawing.picture.allowed = std::as_const(drawing.allowed).view();
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
