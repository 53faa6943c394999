// Every code point at once. The numbers are the reference's, taken by asking it
// of each: a utf8proc of another Unicode must not change what a character is to
// a model.
#include "unicode/bert_characters.h"

#include <gtest/gtest.h>

#include "tally.h"
#include "unicode/normal_forms.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

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
  // A mark that decomposes is never asked for.
  EXPECT_EQ(tally([](char32_t code) {
              const Decomposition decomposition(code);
              return is_nonspacing_mark(code) &&
                     decomposition.codes().front() == code;
            }),
            (Tally{1'549, 262'364'136}));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
