#include "shell/korean_particle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headwise::cli {
namespace {

struct Case {
  std::string word;
  std::string expected;
};

void expect_all(const char* forms, const std::vector<Case>& cases) {
  for (const auto& [word, expected] : cases) {
    EXPECT_EQ(with_particle(word, forms), expected);
  }
}

TEST(WithParticleTest, FollowsTheLastSyllable) {
  expect_all("은/는", {{"값", "값은"}, {"키", "키는"}, {"모델", "모델은"}});
  expect_all("을/를", {{"값", "값을"}, {"쿼리", "쿼리를"}});
  expect_all("이/가", {{"헤드", "헤드가"}, {"토큰", "토큰이"}});
  expect_all("이어야/여야", {{"정수", "정수여야"}, {"값", "값이어야"}});
}

TEST(WithParticleTest, RieulTakesTheShortFormOfDirection) {
  expect_all("으로/로", {{"모델", "모델로"},
                         {"값", "값으로"},
                         {"키", "키로"},
                         {"7", "7로"},
                         {"3", "3으로"},
                         {"--model", "--model로"}});
}

TEST(WithParticleTest, DigitsAreReadInKorean) {
  expect_all("은/는", {{"0", "0은"},
                       {"1", "1은"},
                       {"2", "2는"},
                       {"3", "3은"},
                       {"4", "4는"},
                       {"5", "5는"},
                       {"6", "6은"},
                       {"7", "7은"},
                       {"8", "8은"},
                       {"9", "9는"},
                       {"100", "100은"}});
}

TEST(WithParticleTest, LatinWordsAreReadAsTheyAreTranscribed) {
  expect_all("을/를", {{"--model", "--model을"},
                       {"--title", "--title을"},
                       {"--json", "--json을"},
                       {"--scoring", "--scoring을"},
                       {"--step", "--step을"},
                       {"--correct", "--correct를"},
                       {"--png", "--png를"},
                       {"--out", "--out을"},
                       {"--data", "--data를"},
                       {"--heads", "--heads를"},
                       {"--mask", "--mask를"},
                       {"--test", "--test를"},
                       {"scores.npy", "scores.npy를"},
                       {"DIR", "DIR를"}});
}

TEST(WithParticleTest, ClosingMarksArePassedOver) {
  expect_all(
      "이/가",
      {{"\"토큰\"", "\"토큰\"이"}, {"(B, 3)", "(B, 3)이"}, {"[키]", "[키]가"}});
}

TEST(WithParticleTest, WhatHasNoSoundEndsInAVowel) {
  expect_all("이/가", {{"", "가"}, {"%", "%가"}, {"é", "é가"}, {"\"", "\"가"}});
}

}  // namespace
}  // namespace headwise::cli
