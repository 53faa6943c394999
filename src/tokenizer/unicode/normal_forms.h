// Unicode's normal forms, in version 9, which is the reference's: models were
// trained on its choices, so what Unicode decomposes or sorts only since then
// stays as it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct NormalForm {
  bool composed = false;
  bool compatible = false;  // NFKC and NFKD
};

// A character's decomposition in full, at most 18 characters.
class Decomposition {
 public:
  explicit Decomposition(char32_t code, bool compatible = false);
  std::span<const char32_t> codes() const& {
    return std::span(codes_).first(count_);
  }
  std::span<const char32_t> codes() && = delete;  // they would be gone

 private:
  std::array<char32_t, 18> codes_;
  std::size_t count_ = 1;
};

// Adjacent marks, which have other classes than 0, are sorted by their class.
std::uint8_t combining_class(char32_t code);

// What two characters compose to; 0: nothing.
char32_t composed(char32_t first, char32_t second);

// Whether the form keeps this character and its place, unless it composes with
// what follows. False of some such characters that are rare.
bool is_kept(NormalForm form, char32_t code);

// A character of a normalised text, and how many of the text before it takes
// the place of: as Transform::put() expects.
struct NormalPiece {
  char32_t code;
  std::int32_t change;
  std::uint8_t combining_class;
};

// Adds the decomposition of a character.
void decompose(char32_t code, bool compatible,
               std::vector<NormalPiece>& pieces);
void sort_marks(std::span<NormalPiece> pieces);
// Writes the normal form of `codes` in place of what `normal` has.
void normalize(NormalForm form, std::u32string_view codes,
               std::vector<NormalPiece>& normal);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
