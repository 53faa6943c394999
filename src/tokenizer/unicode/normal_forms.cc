#include <algorithm>
#include <utility>

#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The numbers of Hangul's jamo, and of syllables with the same leading jamo,
// and with the same vowel, too.
constexpr char32_t kLeading = 0x1100;
constexpr char32_t kLeadings = 19;
constexpr char32_t kVowel = 0x1161;
constexpr char32_t kVowels = 21;
constexpr char32_t kBeforeTrailing = 0x11A7;
constexpr char32_t kTrailings = 28;  // with none
constexpr char32_t kSyllable = 0xAC00;
constexpr char32_t kSyllables = kLeadings * kVowels * kTrailings;

char32_t composed_syllable(char32_t first, char32_t second) {
  if (first - kLeading < kLeadings && second - kVowel < kVowels) {
    return kSyllable +
           ((first - kLeading) * kVowels + (second - kVowel)) * kTrailings;
  }
  const bool is_open =
      first - kSyllable < kSyllables && (first - kSyllable) % kTrailings == 0;
  const bool is_trailing =
      second > kBeforeTrailing && second - kBeforeTrailing < kTrailings;
  return is_open && is_trailing ? first + (second - kBeforeTrailing) : 0;
}

// 0: nothing
char32_t composed(char32_t first, char32_t second) {
  const std::span pairs(kComposed, kComposedCount);
  const auto found = std::ranges::lower_bound(
      pairs, std::pair(first, second), {}, [](const ComposedPair& pair) {
        return std::pair(pair.first, pair.second);
      });
  return found != pairs.end() && found->first == first &&
                 found->second == second
             ? found->both
             : composed_syllable(first, second);
}

// Composes each character of class 0 with those that follow it and that no
// other one blocks. A composed character takes the places of both.
void compose(std::vector<NormalPiece>& pieces) {
  NormalPiece* starter = nullptr;
  int last_class = -1;  // of what is kept behind the starter
  std::size_t kept = 0;
  for (const NormalPiece piece : pieces) {
    const bool blocked = last_class >= piece.combining_class;
    const char32_t both = starter != nullptr && !blocked
                              ? composed(starter->code, piece.code)
                              : 0;
    if (both != 0) {
      starter->code = both;
      starter->change += piece.change - 1;
      continue;
    }
    pieces[kept] = piece;
    last_class = piece.combining_class;
    if (piece.combining_class == 0) {
      starter = &pieces[kept];
      last_class = -1;
    }
    ++kept;
  }
  pieces.resize(kept);
}

}  // namespace

void decompose(NormalForm form, char32_t code,
               std::vector<NormalPiece>& pieces) {
  std::int32_t change = 0;
  const auto add = [&](char32_t part) {
    pieces.push_back({part, change, traits(part).combining_class});
    change = 1;
  };
  if (const char32_t index = code - kSyllable; index < kSyllables) {
    add(kLeading + index / (kVowels * kTrailings));
    add(kVowel + index / kTrailings % kVowels);
    if (index % kTrailings != 0) {
      add(kBeforeTrailing + index % kTrailings);
    }
    return;
  }
  const bool is_compatible =
      form == NormalForm::nfkc || form == NormalForm::nfkd;
  if (!is_kept(is_compatible ? NormalForm::nfkd : NormalForm::nfd, code)) {
    const std::span all(kDecomposed, kDecomposedCount);
    const auto found =
        std::ranges::lower_bound(all, code, {}, &DecomposedCharacter::code);
    if (found != all.end() && found->code == code) {
      std::for_each_n(kDecomposedTexts + found->begin[is_compatible],
                      found->count[is_compatible], add);
    }
  }
  if (change == 0) {
    add(code);
  }
}

void sort_marks(std::span<NormalPiece> pieces) {
  const auto moves = [](const NormalPiece& piece) {
    return piece.combining_class != 0;
  };
  for (auto begin = pieces.begin(); begin != pieces.end();) {
    begin = std::find_if(begin, pieces.end(), moves);
    const auto end = std::find_if_not(begin, pieces.end(), moves);
    if (end - begin > 1) {
      std::ranges::stable_sort(begin, end, {}, &NormalPiece::combining_class);
    }
    begin = end;
  }
}

void normalize(NormalForm form, std::u32string_view codes,
               std::vector<NormalPiece>& normal) {
  normal.clear();
  for (const char32_t code : codes) {
    decompose(form, code, normal);
  }
  sort_marks(normal);
  if (form == NormalForm::nfc || form == NormalForm::nfkc) {
    compose(normal);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
