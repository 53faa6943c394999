// How a piece is split where something matches.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/version.h"
#include "patterns/pattern.h"
#include "tokenizer/pre_tokenizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What becomes of the matches.
enum class SplitBehavior {
  removed,
  isolated,              // pieces of their own
  merged_with_previous,  // each ends the piece before it
  merged_with_next,      // each begins the piece behind it
  contiguous             // pieces of their own, adjacent ones as one
};
// Their names in a tokenizer.json, by number.
inline constexpr std::array<std::string_view, 5> kSplitBehaviors = {
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
    "Contiguous"};

// Splits `piece` at `matches`, from left to right and of its text. `invert`:
// what lies between them matches.
void split_at(const std::vector<Match>& matches, SplitBehavior behavior,
              bool invert, const Piece& piece, PieceList& pieces);

// Splits every piece at the characters that `matches`.
template <class Predicate>
void split_characters(PieceList& pieces, SplitBehavior behavior,
                      const Predicate& matches) {
  std::vector<Match>& found = pieces.matches();
  for (const Piece& piece : pieces.pieces()) {
    const std::string_view text = pieces.view(piece);
    found.clear();
    for (std::uint32_t at = 0; at < text.size();) {
      const Character character = first_character(text.substr(at));
      if (matches(character.code)) {
        found.push_back({at, at + character.bytes});
      }
      at += character.bytes;
    }
    split_at(found, behavior, /*invert=*/false, piece, pieces);
  }
  pieces.exchange_pieces();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
