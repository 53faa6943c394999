#include <algorithm>
#include <string>
#include <unordered_map>

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

std::uint64_t pair_key(char32_t first, char32_t second) {
  return std::uint64_t{first} << 32U | second;
}

// Without Hangul.
struct NormalTables {
  std::unordered_map<char32_t, std::u32string> parts;
  std::unordered_map<std::uint64_t, char32_t> composed;
};

NormalTables unpacked_tables() {
  NormalTables tables;
  char32_t before[32] = {};
  char32_t code = 0;
  for (PackedNumbers numbers(kDecompositions); !numbers.is_at_end(); ++code) {
    const std::uint32_t header = numbers.next();
    code += header / 4;
    const std::uint32_t size = header % 4 > 0 ? header % 4 : numbers.next();
    std::u32string& parts = tables.parts[code];
    while (parts.size() < size) {
      parts += before[parts.size()] += numbers.next_difference();
    }
    if (is_kept(NormalForm::nfc, code) && !is_kept(NormalForm::nfd, code)) {
      tables.composed[pair_key(parts[0], parts[1])] = code;
    }
  }
  return tables;
}

const NormalTables& normal_tables() {
  static const NormalTables tables = unpacked_tables();
  return tables;
}

// What the form makes of a character in one step; empty: nothing else.
std::u32string_view parts_of(NormalForm form, char32_t code) {
  const bool is_compatible =
      form == NormalForm::nfkc || form == NormalForm::nfkd;
  if (is_kept(is_compatible ? NormalForm::nfkd : NormalForm::nfd, code)) {
    return {};
  }
  const auto& all = normal_tables().parts;
  const auto found = all.find(code);
  return found == all.end() ? std::u32string_view() : found->second;
}

// 0: nothing
char32_t composed(char32_t first, char32_t second) {
  if (is_kept(NormalForm::nfc, second)) {
    return 0;
  }
  const auto& pairs = normal_tables().composed;
  const auto found = pairs.find(pair_key(first, second));
  return found != pairs.end() ? found->second
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
  const std::size_t begin = pieces.size();
  const auto add = [&](char32_t part) {
    const std::int32_t change = pieces.size() > begin ? 1 : 0;
    pieces.push_back({part, change, traits(part).combining_class});
  };
  if (const char32_t index = code - kSyllable; index < kSyllables) {
    add(kLeading + index / (kVowels * kTrailings));
    add(kVowel + index / kTrailings % kVowels);
    if (index % kTrailings != 0) {
      add(kBeforeTrailing + index % kTrailings);
    }
    return;
  }
  const std::u32string_view parts = parts_of(form, code);
  if (parts.empty()) {
    add(code);
  }
  for (const char32_t part : parts) {  // which may have parts
    const std::size_t at = pieces.size();
    decompose(form, part, pieces);
    pieces[at].change = at > begin ? 1 : 0;
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
