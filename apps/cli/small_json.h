// JSON of files that hold little: scores of heads, journals.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace headwise::cli {

inline constexpr std::size_t kLargestScores = std::size_t{1} << 22;
inline constexpr std::size_t kLargestJournal = std::size_t{1} << 26;

// Discarded (is_discarded()) where the text is no JSON, has more than `most`
// bytes, or nests deeper than such files do: a tree takes many times its text.
nlohmann::json parse_small_json(std::string_view text, std::size_t most);

}  // namespace headwise::cli
