#include "headwise/steps/padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headwise {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(PaddingTest, ShorterSequencesEndInThePadId) {
  const PaddedTokens padded =
      pad({{62, 13, 47}, {60}, {7, 8}}, {.pad_id = 9}).value();
  EXPECT_EQ(padded.ids.extents(), (Extents<2>{3, 3}));
  EXPECT_THAT(padded.ids.elements(),
              ElementsAre(62, 13, 47, 60, 9, 9, 7, 8, 9));
  EXPECT_THAT(padded.lengths.elements(), ElementsAre(3, 1, 2));
  EXPECT_THAT(
      padded.padding_mask.elements(),
      ElementsAre(true, true, true, true, false, false, true, true, false));
}

TEST(PaddingTest, APadIdInsideASequenceIsATokenByLengthAndPaddingById) {
  const RaggedTokens tokens = {{5, 0, 6}, {0}};
  const PaddedTokens by_length =
      pad(tokens, {.padding_by = PaddingBy::length}).value();
  EXPECT_THAT(by_length.padding_mask.elements(),
              ElementsAre(true, true, true, true, false, false));
  const PaddedTokens by_id = pad(tokens, {.padding_by = PaddingBy::id}).value();
  EXPECT_THAT(by_id.padding_mask.elements(),
              ElementsAre(true, false, true, false, false, false));
  // Ids and lengths are the same under both rules.
  EXPECT_THAT(by_id.ids.elements(), ElementsAre(5, 0, 6, 0, 0, 0));
  EXPECT_THAT(by_id.lengths.elements(), ElementsAre(3, 1));
}

TEST(PaddingTest, AnEmptySequenceIsPaddingOnly) {
  const PaddedTokens padded = pad({{}, {4, 5}}).value();
  EXPECT_THAT(padded.ids.elements(), ElementsAre(0, 0, 4, 5));
  EXPECT_THAT(padded.lengths.elements(), ElementsAre(0, 2));
  EXPECT_THAT(padded.padding_mask.elements(),
              ElementsAre(false, false, true, true));
}

TEST(PaddingTest, SequencesThatAreAllEmptyGiveARectangleOfNoColumns) {
  const PaddedTokens padded = pad({{}, {}}).value();
  EXPECT_EQ(padded.ids.extents(), (Extents<2>{2, 0}));
  EXPECT_EQ(padded.padding_mask.extents(), (Extents<2>{2, 0}));
  EXPECT_THAT(padded.lengths.elements(), ElementsAre(0, 0));
}

TEST(PaddingTest, AnEmptyBatchIsLegal) {
  const PaddedTokens padded = pad({}).value();
  EXPECT_EQ(padded.ids.extents(), (Extents<2>{0, 0}));
  EXPECT_EQ(padded.lengths.extents(), (Extents<1>{0}));
  EXPECT_EQ(padded.padding_mask.extents(), (Extents<2>{0, 0}));
}

std::vector<std::pair<std::size_t, std::size_t>> progress_of(
    const RaggedTokens& tokens) {
  std::vector<std::pair<std::size_t, std::size_t>> calls;
  const auto padded = pad(tokens, {}, [&](std::size_t done, std::size_t total) {
    calls.emplace_back(done, total);
  });
  EXPECT_TRUE(padded);
  return calls;
}

TEST(PaddingTest, ProgressRunsFromZeroToTheTotal) {
  EXPECT_THAT(progress_of({{1}, {2, 3}, {}}),
              ElementsAre(std::pair(0, 3), std::pair(1, 3), std::pair(2, 3),
                          std::pair(3, 3)));
  EXPECT_THAT(progress_of({}), ElementsAre(std::pair(0, 0)));
}

}  // namespace
}  // namespace headwise
