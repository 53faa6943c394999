// Every code point at once. The numbers are the reference's, taken by asking it
// of each.
#include "unicode/normal_forms.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tally.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr NormalForm kForms[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

// What the characters that decompose become.
struct Decomposed {
  Tally tally;
  std::size_t parts = 0;
};

Decomposed decomposed(bool compatible) {
  Decomposed all;
  for_each_character([&](char32_t code) {
    const Decomposition decomposition(code, compatible);
    if (decomposition.codes().size() == 1 &&
        decomposition.codes().front() == code) {
      return;
    }
    all.tally.count += 1;
    all.parts += decomposition.codes().size();
    for (const char32_t part : decomposition.codes()) {
      all.tally.sum += part;
    }
  });
  return all;
}

TEST(NormalFormsTest, EveryCharacterDecomposesAsInTheReference) {
  const Decomposed canonical = decomposed(false);
  EXPECT_EQ(canonical.tally, (Tally{13'232, 199'024'048}));
  EXPECT_EQ(canonical.parts, 36'521u);
  const Decomposed compatible = decomposed(true);
  EXPECT_EQ(compatible.tally, (Tally{16'894, 223'323'547}));
  EXPECT_EQ(compatible.parts, 42'091u);
}

// How many have a class, and the sum of the classes.
TEST(NormalFormsTest, EveryMarkIsSortedAsInTheReference) {
  Tally marks;
  for_each_character([&](char32_t code) {
    marks.count += combining_class(code) != 0 ? 1 : 0;
    marks.sum += combining_class(code);
  });
  EXPECT_EQ(marks, (Tally{814, 152'626}));
}

TEST(NormalFormsTest, EveryCharacterComposesAsInTheReference) {
  Tally composites;
  std::vector<NormalPiece> normal;
  for_each_character([&](char32_t code) {
    const Decomposition decomposition(code);
    if (decomposition.codes().size() < 2) {
      return;
    }
    normalize({.composed = true}, {&code, 1}, normal);
    if (normal.size() == 1 && normal.front().code == code) {
      composites.count += 1;
      composites.sum += code;
      EXPECT_EQ(normal.front().change, 0);
    }
  });
  EXPECT_EQ(composites, (Tally{12'112, 560'222'908}));
}

TEST(NormalFormsTest, WhatIsKeptNeitherChangesNorMovesNorComposes) {
  std::vector<NormalPiece> normal;
  for_each_character([&](char32_t code) {
    const Decomposition decomposition(code);
    const char32_t last = decomposition.codes().back();
    const bool joins = decomposition.codes().size() > 1 &&
                       composed(decomposition.codes().front(), last) != 0;
    for (const NormalForm form : kForms) {
      if (is_kept(form, code)) {
        normalize(form, {&code, 1}, normal);
        EXPECT_EQ(normal.size(), 1u);
        EXPECT_EQ(normal.front().code, code);
        EXPECT_EQ(normal.front().combining_class, 0);
      }
      EXPECT_FALSE(joins && form.composed && is_kept(form, last));
    }
  });
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
