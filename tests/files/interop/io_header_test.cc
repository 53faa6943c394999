// First and alone: io.h compiles without any other header.
#include <gtest/gtest.h>

#include "headwise/io.h"

namespace headwise {
namespace {

TEST(IoHeaderTest, HasFilesModelsPicturesAndPruning) {
  EXPECT_FALSE(parse_npy({}, "empty.npy"));
  EXPECT_FALSE(SentenceEncoder::read("no such folder"));
  EXPECT_TRUE(head_scores_svg(HeadScores()));
  EXPECT_EQ(HeadId(), (HeadId{0, 0}));
}

}  // namespace
}  // namespace headwise
