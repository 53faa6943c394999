// Text on a terminal: how wide it is, and text of others (a sentence, a
// vocabulary) that cannot move the cursor or turn a line around.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headwise::cli {

// UTF-8, with control characters as \x1b and those that change the direction of
// writing as \u{202e}.
std::string shown(std::string_view text);

// JSON with the same characters as \u009b; line ends stay.
std::string shown_json(std::string_view json);

// Of UTF-8 that shown() gave: Hangul, CJK and emoji take two columns, combining
// marks none.
std::size_t columns_of(std::string_view text);

// The beginning that fits in so many columns; never a part of a character.
std::string beginning_of(std::string_view text, std::size_t columns);
// The text, or where it is longer the beginning of it and "...".
std::string cut_to(std::string_view text, std::size_t columns);

// As a word of a shell: in single quotes unless it is plain, and in $'...' with
// \x1b for bytes that a terminal would obey or could not show.
std::string shell_word(const std::string& text);

}  // namespace headwise::cli
