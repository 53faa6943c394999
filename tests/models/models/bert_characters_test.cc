// Every code point at once. The numbers are the reference tokenizer's, taken by
// asking it of each (tests/models/models/reference_test.py does so again): a
// utf8proc of another Unicode must not change what a character is to a model.
#include "models/bert_characters.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>

namespace headwise::bert {
namespace {

// How many, and their sum.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  bool operator==(const Tally&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Tally& tally) {
  return out << tally.count << " with the sum " << tally.sum;
}

template <class Visit>
void for_each_character(const Visit& visit) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code < 0xD800 || code > 0xDFFF) {
      visit(code);
    }
  }
}

template <class Predicate>
Tally tally(const Predicate& is_one) {
  Tally tally;
  for_each_character([&](char32_t code) {
    if (is_one(code)) {
      tally.count += 1;
      tally.sum += code;
    }
  });
  return tally;
}

TEST(BertCharactersTest, EveryCharacterHasTheClassOfTheReference) {
  EXPECT_EQ(tally(is_dropped), (Tally{137'681, 137'913'084'793}));
  EXPECT_EQ(tally(is_space), (Tally{22, 141'430}));
  EXPECT_EQ(tally(is_cjk), (Tally{81'264, 9'171'601'864}));
  EXPECT_EQ(tally(is_punctuation), (Tally{726, 20'675'981}));
  // A mark that decomposes is never asked for.
  EXPECT_EQ(tally([](char32_t code) {
              const Decomposition decomposition(code);
              return is_accent(code) && decomposition.codes().front() == code;
            }),
            (Tally{1'549, 262'364'136}));
}

// How many change, and the sum of what they become.
TEST(BertCharactersTest, EveryCharacterHasTheLowerCaseOfTheReference) {
  Tally changed;
  for_each_character([&](char32_t code) {
    const LowerCase lower = lower_case(code);
    if (lower.first != code || lower.second != 0) {
      changed.count += 1;
      changed.sum += lower.first + lower.second;
    }
  });
  EXPECT_EQ(changed, (Tally{1'488, 39'003'168}));
}

TEST(BertCharactersTest, EveryCharacterDecomposesAsInTheReference) {
  Tally decomposed;
  std::size_t parts = 0;
  for_each_character([&](char32_t code) {
    const Decomposition decomposition(code);
    if (decomposition.codes().size() > 1 ||
        decomposition.codes().front() != code) {
      decomposed.count += 1;
      parts += decomposition.codes().size();
      for (const char32_t part : decomposition.codes()) {
        decomposed.sum += part;
      }
    }
  });
  EXPECT_EQ(decomposed, (Tally{13'232, 199'024'048}));
  EXPECT_EQ(parts, 36'521u);
}

// How many have a class, and the sum of the classes.
TEST(BertCharactersTest, EveryMarkIsSortedAsInTheReference) {
  Tally marks;
  for_each_character([&](char32_t code) {
    marks.count += combining_class(code) != 0 ? 1 : 0;
    marks.sum += combining_class(code);
  });
  EXPECT_EQ(marks, (Tally{814, 152'626}));
}

}  // namespace
}  // namespace headwise::bert
