#include "unicode/normal_forms.h"

#include <utf8proc.h>

#include <algorithm>

#include "unicode/code_ranges.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// What has a combining class or a decomposition only since version 10: the
// reference sorts and decomposes by version 9.
constexpr std::array kNewToNormalisation = {
    CodeRange{0x05C8, 0x05C9},   CodeRange{0x07FD, 0x07FD},
    CodeRange{0x0897, 0x08D3},   CodeRange{0x09FE, 0x09FE},
    CodeRange{0x0C3C, 0x0C3C},   CodeRange{0x0D3B, 0x0D3C},
    CodeRange{0x0EBA, 0x0EBA},   CodeRange{0x1715, 0x1715},
    CodeRange{0x1ABF, 0x1AF0},   CodeRange{0x1DF6, 0x1DFA},
    CodeRange{0x32FF, 0x32FF},   CodeRange{0xA7F2, 0xA7F4},
    CodeRange{0xA82C, 0xA82C},   CodeRange{0xAB69, 0xAB69},
    CodeRange{0x105C9, 0x107BA}, CodeRange{0x10D24, 0x10F85},
    CodeRange{0x11070, 0x11070}, CodeRange{0x1133B, 0x1133B},
    CodeRange{0x11383, 0x113D0}, CodeRange{0x1145E, 0x1145E},
    CodeRange{0x11839, 0x11A99}, CodeRange{0x11D42, 0x1612F},
    CodeRange{0x16D68, 0x16FF1}, CodeRange{0x1D127, 0x1D128},
    CodeRange{0x1D250, 0x1D281}, CodeRange{0x1E030, 0x1E6F5},
    CodeRange{0x1F16C, 0x1F16C}, CodeRange{0x1FBF0, 0x1FBF9}};

// Letters that all forms keep: most of what is written in some scripts.
constexpr std::array kKeptByAll = {
    CodeRange{0x0391, 0x03A9}, CodeRange{0x03B1, 0x03C9},
    CodeRange{0x041A, 0x0438}, CodeRange{0x043A, 0x044F},
    CodeRange{0x05D0, 0x05EA}, CodeRange{0x0627, 0x064A},
    CodeRange{0x0904, 0x0928}, CodeRange{0x0E01, 0x0E30},
    CodeRange{0x3400, 0x4DBF}, CodeRange{0x4E00, 0x9FFF}};

// Characters that NFC and NFKC keep, composed as they are.
constexpr std::array kKeptComposed = {
    CodeRange{0x00C0, 0x0131}, CodeRange{0x0400, 0x0482},
    CodeRange{0x048A, 0x052F}, CodeRange{0x1EA0, 0x1EF9},
    CodeRange{0x3041, 0x3096}, CodeRange{0x30A1, 0x30FA},
    CodeRange{0xAC00, 0xD7A3}};

constexpr CodeRange kJamo = {0x1100, 0x11FF};
constexpr CodeRange kLeadings = {0x1100, 0x1112};
constexpr CodeRange kVowels = {0x1161, 0x1175};
constexpr CodeRange kTrailings = {0x11A8, 0x11C2};
constexpr CodeRange kSyllables = {0xAC00, 0xD7A3};
// Syllables with the same leading jamo, and with the same vowel, too.
constexpr char32_t kSameLeading = 588;
constexpr char32_t kSameVowel = 28;

constexpr bool is_in(CodeRange range, char32_t code) {
  return code >= range.first && code <= range.last;
}

const utf8proc_property_t& property(char32_t code) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
}

bool is_mark(utf8proc_propval_t category) {
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

// utf8proc also composes with U+11A7, which is before the first that may.
char32_t composed_syllable(char32_t first, char32_t second) {
  if (is_in(kLeadings, first) && is_in(kVowels, second)) {
    return kSyllables.first + (first - kLeadings.first) * kSameLeading +
           (second - kVowels.first) * kSameVowel;
  }
  if (is_in(kSyllables, first) && is_in(kTrailings, second) &&
      (first - kSyllables.first) % kSameVowel == 0) {
    return first + 1 + second - kTrailings.first;
  }
  return 0;
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

Decomposition::Decomposition(char32_t code, bool compatible) {
  codes_[0] = code;
  if (code < 0x80 || in_ranges(kNewToNormalisation, code)) {
    return;
  }
  if (is_in(kSyllables, code)) {
    const char32_t index = code - kSyllables.first;
    const char32_t trailing = index % kSameVowel;
    codes_[0] = kLeadings.first + index / kSameLeading;
    codes_[1] = kVowels.first + index % kSameLeading / kSameVowel;
    codes_[2] = kTrailings.first - 1 + trailing;
    count_ = trailing == 0 ? 2 : 3;
    return;
  }
  std::array<utf8proc_int32_t, std::tuple_size_v<decltype(codes_)>> parts;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                              parts.size(), options, nullptr);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    return;
  }
  count_ = static_cast<std::size_t>(count);
  std::copy_n(parts.begin(), count_, codes_.begin());
}

std::uint8_t combining_class(char32_t code) {
  return code < 0x300 || is_in(kJamo, code) ||
                 in_ranges(kNewToNormalisation, code)
             ? std::uint8_t{0}
             : static_cast<std::uint8_t>(property(code).combining_class);
}

char32_t composed(char32_t first, char32_t second) {
  if (second < 0x300 || in_ranges(kNewToNormalisation, first) ||
      in_ranges(kNewToNormalisation, second)) {
    return 0;
  }
  if (is_in(kJamo, second)) {
    return composed_syllable(first, second);
  }
  std::array pair = {static_cast<utf8proc_int32_t>(first),
                     static_cast<utf8proc_int32_t>(second)};
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair.data(), 2, options) == 1
             ? static_cast<char32_t>(pair[0])
             : 0;
}

bool is_kept(NormalForm form, char32_t code) {
  if (code < 0xA0 || (form.composed && !form.compatible && code < 0x300) ||
      in_ranges(kKeptByAll, code) ||
      (form.composed && in_ranges(kKeptComposed, code))) {
    return true;
  }
  // Whatever composes with the character before it is a mark or a jamo.
  if (is_mark(property(code).category) || is_in(kJamo, code)) {
    return false;
  }
  const Decomposition decomposition(code, form.compatible);
  return decomposition.codes().size() == 1 &&
         decomposition.codes().front() == code;
}

void decompose(char32_t code, bool compatible,
               std::vector<NormalPiece>& pieces) {
  std::int32_t change = 0;
  const Decomposition decomposition(code, compatible);
  for (const char32_t part : decomposition.codes()) {
    pieces.push_back({part, change, combining_class(part)});
    change = 1;
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
      std::stable_sort(begin, end,
                       [](const NormalPiece& a, const NormalPiece& b) {
                         return a.combining_class < b.combining_class;
                       });
    }
    begin = end;
  }
}

void normalize(NormalForm form, std::u32string_view codes,
               std::vector<NormalPiece>& normal) {
  normal.clear();
  for (const char32_t code : codes) {
    decompose(code, form.compatible, normal);
  }
  sort_marks(normal);
  if (form.composed) {
    compose(normal);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
