// Every code point at once. The numbers are the reference's, taken by asking it
// of each.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tally.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr NormalForm kForms[] = {NormalForm::nfc, NormalForm::nfd,
                                 NormalForm::nfkc, NormalForm::nfkd};

std::vector<NormalPiece> decomposition(char32_t code, bool compatible = false) {
  std::vector<NormalPiece> pieces;
  decompose(compatible ? NormalForm::nfkd : NormalForm::nfd, code, pieces);
  return pieces;
}

// What the characters that decompose become.
struct Decomposed {
  Tally tally;
  std::size_t parts = 0;
};

Decomposed decomposed(bool compatible) {
  Decomposed all;
  for_each_character([&](char32_t code) {
    const auto pieces = decomposition(code, compatible);
    if (pieces.size() == 1 && pieces.front().code == code) {
      return;
    }
    all.tally.count += 1;
    all.parts += pieces.size();
    for (const NormalPiece& piece : pieces) {
      all.tally.sum += piece.code;
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

TEST(NormalFormsTest, EveryCharacterComposesAsInTheReference) {
  Tally composites;
  std::vector<NormalPiece> normal;
  for_each_character([&](char32_t code) {
    if (decomposition(code).size() < 2) {
      return;
    }
    normalize(NormalForm::nfc, {&code, 1}, normal);
    if (normal.size() == 1 && normal.front().code == code) {
      composites.count += 1;
      composites.sum += code;
      EXPECT_EQ(normal.front().change, 0);
    }
  });
  EXPECT_EQ(composites, (Tally{12'112, 560'222'908}));
}

TEST(NormalFormsTest, WhatIsKeptNeitherChangesNorMoves) {
  std::vector<NormalPiece> normal;
  for_each_character([&](char32_t code) {
    for (const NormalForm form : kForms) {
      if (is_kept(form, code)) {
        normalize(form, {&code, 1}, normal);
        EXPECT_EQ(normal.size(), 1u);
        EXPECT_EQ(normal.front().code, code);
        EXPECT_EQ(normal.front().combining_class, 0);
      }
    }
  });
}

TEST(NormalFormsTest, WhatComposesWithTheOneBeforeIsNotKept) {
  std::vector<NormalPiece> parts;
  for_each_character([&](char32_t code) {
    if (is_kept(NormalForm::nfc, code) && !is_kept(NormalForm::nfd, code)) {
      parts.clear();
      decompose(NormalForm::nfd, code, parts);
      EXPECT_FALSE(is_kept(NormalForm::nfc, parts.back().code));
      EXPECT_FALSE(is_kept(NormalForm::nfkc, parts.back().code));
    }
  });
  EXPECT_FALSE(is_kept(NormalForm::nfc, 0x1161));
  EXPECT_TRUE(is_kept(NormalForm::nfc, 0x11A7));
  EXPECT_FALSE(is_kept(NormalForm::nfc, 0x11C2));
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
