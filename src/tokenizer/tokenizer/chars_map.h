// A table of replacements of characters, as SentencePiece compiles it into its
// models: a double-array trie (Darts-clone) of the texts to replace, and the
// replacements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

inline constexpr std::string_view kCharsMapKey = "precompiled_charsmap";

class CharsMap {
 public:
  struct Match {
    std::size_t bytes = 0;  // of the text
    std::string_view replacement;
  };

  // That of the part's precompiled_charsmap, in base64; without one it finds
  // nothing. Errors: bad_data.
  static Result<CharsMap> read(const JsonPart& part);

  // The longest and the shortest text of the table that `text` begins with, in
  // whole characters. A damaged table has fewer matches.
  std::optional<Match> longest(std::string_view text) const {
    return find(text, /*shortest=*/false);
  }
  std::optional<Match> first(std::string_view text) const {
    return find(text, /*shortest=*/true);
  }

 private:
  std::optional<Match> find(std::string_view text, bool shortest) const;
  std::optional<std::string_view> replacement(std::size_t node) const;

  std::vector<std::uint32_t> units_ = {0};
  std::string replacements_;  // each ends with a NUL
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
