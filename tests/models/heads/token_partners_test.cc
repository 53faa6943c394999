#include "heads/token_partners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<std::size_t, std::size_t>> partners(
    const std::vector<TokenId>& clean, const std::vector<TokenId>& corrupted) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& [begin, end] : partners_of(clean, corrupted)) {
    pairs.emplace_back(begin, end);
  }
  return pairs;
}

TEST(TokenPartnersTest, TextsOfOneLengthGoTokenByToken) {
  EXPECT_THAT(partners({1, 5, 6, 2}, {1, 6, 5, 2}),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 3), Pair(3, 4)));
}

TEST(TokenPartnersTest, WhatDiffersTakesAllThatDiffers) {
  EXPECT_THAT(partners({1, 5, 2, 3}, {1, 7, 8, 2, 3}),
              ElementsAre(Pair(0, 1), Pair(1, 3), Pair(3, 4), Pair(4, 5)));
  EXPECT_THAT(partners({1, 5, 6, 2}, {1, 7, 2}),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(1, 2), Pair(2, 3)));
}

TEST(TokenPartnersTest, AnAddedTokenHasNone) {
  EXPECT_THAT(partners({1, 5, 2}, {1, 2}),
              ElementsAre(Pair(0, 1), Pair(1, 1), Pair(1, 2)));
}

TEST(TokenPartnersTest, ARepeatedTokenIsCountedOnce) {
  EXPECT_THAT(partners({4, 4, 4}, {4, 4}),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 2)));
  EXPECT_THAT(partners({4, 4}, {4, 4, 4}), ElementsAre(Pair(0, 1), Pair(1, 2)));
}

}  // namespace
}  // namespace headwise
