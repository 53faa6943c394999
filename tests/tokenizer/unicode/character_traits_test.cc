// Every code point at once. The numbers are the reference's, taken by asking it
// of each.
#include "unicode/character_traits.h"

#include <gtest/gtest.h>

#include "tally.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Of the characters that have a bit.
Tally tally(unsigned bit) {
  Tally tally;
  for_each_character([&](char32_t code) {
    if ((traits(code).bits & bit) != 0) {
      tally.count += 1;
      tally.sum += code;
    }
  });
  return tally;
}

TEST(CharacterTraitsTest, EveryCharacterIsToBertWhatItIsToTheReference) {
  EXPECT_EQ(tally(kDroppedBit), (Tally{137'681, 137'913'084'793}));
  EXPECT_EQ(tally(kSpaceBit), (Tally{21, 141'398}));
  EXPECT_EQ(tally(kIdeographBit), (Tally{81'264, 9'171'601'864}));
  EXPECT_EQ(tally(kNonspacingBit), (Tally{1'567, 262'554'314}));
}

// How many have a class, and the sum of the classes.
TEST(CharacterTraitsTest, EveryMarkIsSortedAsInTheReference) {
  Tally marks;
  for_each_character([&](char32_t code) {
    marks.count += traits(code).combining_class != 0 ? 1 : 0;
    marks.sum += traits(code).combining_class;
  });
  EXPECT_EQ(marks, (Tally{814, 152'626}));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
