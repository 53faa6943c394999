#include "heads/head_matches.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "headwise/base/tensor.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Indices = std::vector<std::optional<std::size_t>>;

const std::vector<HeadId> kThree = {{0, 0}, {0, 1}, {1, 0}};

TEST(HeadMatchesTest, FindsHeadsThatChangedPlaces) {
  const auto similarity = tensor_of<double>(
      Extents<2>{3, 3}, {0.1, 0.9, 0.2, 0.8, 0.3, 0.3, 0.2, 0.4, 0.7});
  const HeadMatches matches = match_heads(similarity, kThree, kThree);
  EXPECT_EQ(matches.partners, (Indices{1, 0, 2}));
  EXPECT_EQ(matches.nearest, (Indices{1, 0, 2}));
}

TEST(HeadMatchesTest, GivesAPartnerOnceAndTheNearestOften) {
  const auto similarity =
      tensor_of<double>(Extents<2>{2, 2}, {0.9, 0.8, 0.9, 0.1});
  const HeadMatches matches = match_heads(
      similarity, std::span(kThree).first(2), std::span(kThree).first(2));
  EXPECT_EQ(matches.partners, (Indices{1, 0}));
  EXPECT_EQ(matches.nearest, (Indices{0, 0}));
}

// With one token all maps are the same.
TEST(HeadMatchesTest, PrefersTheSamePlaceAmongEquals) {
  const std::vector<HeadId> pruned = {{0, 1}, {1, 0}};
  const auto equal = filled<double, 2>({3, 2}, 1);
  const HeadMatches matches = match_heads(equal, kThree, pruned);
  EXPECT_EQ(matches.partners, (Indices{std::nullopt, 0, 1}));
  EXPECT_EQ(matches.nearest, (Indices{0, 0, 1}));
}

TEST(HeadMatchesTest, HasNoneWithoutHeads) {
  const auto none = Tensor<double, 2>::create({3, 0}).value();
  const HeadMatches matches = match_heads(none, kThree, {});
  EXPECT_EQ(matches.partners, Indices(3));
  EXPECT_EQ(matches.nearest, Indices(3));
}

}  // namespace
}  // namespace headwise::testing_support
