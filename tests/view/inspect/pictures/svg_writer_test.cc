// The words above a picture.
#include "inspect/pictures/svg_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string drawn(const SvgHeading& heading) {
  return SvgWriter(100, 50, heading, "").finish();
}

TEST(SvgHeadingTest, BothLinesAreDrawnAndTheirRoomIsKnown) {
  const SvgHeading both{"Heads", "of a model"};
  EXPECT_THAT(drawn(both), HasSubstr("<title>Heads</title>"));
  EXPECT_THAT(drawn(both), HasSubstr(">Heads</text>"));
  EXPECT_THAT(drawn(both), HasSubstr(">of a model</text>"));
  const SvgHeading title{"Heads"};
  EXPECT_THAT(drawn(title), Not(HasSubstr("></text>")));
  EXPECT_GT(both.height(), title.height());
  EXPECT_GT(both.width(), title.width());
}

TEST(SvgHeadingTest, NoTextMakesAPictureWiderThanAScreen) {
  const std::string text(100000, 'x');
  EXPECT_EQ((SvgHeading{text}.width()), SvgHeading::kWidest);
  EXPECT_EQ((SvgHeading{"", text}.width()), SvgHeading::kWidest);
}

}  // namespace
}  // namespace headwise
