#include "shell/terminal_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace headwise::cli {
namespace {

TEST(TerminalTextTest, WhatMovesTheCursorOrTurnsTheLineIsWrittenOut) {
  using Case = std::pair<std::string_view, std::string_view>;
  for (const auto& [text, expected] :
       {Case{"heads", "heads"}, Case{"", ""}, Case{"\x1b[2J", "\\x1b[2J"},
        Case{"a\r\nb\tc\x7f", "a\\x0d\\x0ab\\x09c\\x7f"},
        Case{"\xC2\x9B\x31m", "\\x9b1m"},  // CSI as one character
        Case{"\x9B\x31m", "\\x9b1m"},      // and as a byte alone
        Case{"a\u202Eb\u2069\u200F", "a\\u{202e}b\\u{2069}\\u{200f}"},
        Case{"caf\u00E9 \uD5E4 \U0001F642", "caf\u00E9 \uD5E4 \U0001F642"},
        // Half a character, at the end and before another.
        Case{"a\xE2\x80", "a\xE2\\x80"}, Case{"\xE2\x1b[", "\xE2\\x1b["}}) {
    EXPECT_EQ(shown(text), expected);
  }
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
}

TEST(TerminalTextTest, WideCharactersTakeTwoColumnsAndMarksNone) {
  using Case = std::pair<std::string_view, std::size_t>;
  for (const auto& [text, expected] :
       {Case{"", 0}, Case{"heads", 5}, Case{"\uD5E4\uB4DC", 4},
        Case{"\u1112\u1166", 2},  // Hangul taken apart
        Case{"\u6F22", 2}, Case{"\U0001F642", 2}, Case{"caf\u00E9", 4},
        Case{"cafe\u0301", 4}, Case{"\u1EBF", 1}, Case{"\u2588", 1}}) {
    EXPECT_EQ(columns_of(text), expected) << text;
  }
}

TEST(ShellWordTest, IsOneWordOfAShellAndObeyedByNoTerminal) {
  using Case = std::pair<std::string, std::string>;
  for (const auto& [text, expected] :
       {Case{"a-b_c./d,e=f+g:h@9", "a-b_c./d,e=f+g:h@9"}, Case{"", "''"},
        Case{"my scores.json", "'my scores.json'"},
        Case{"it's", R"('it'\''s')"}, Case{"$(reboot)", "'$(reboot)'"},
        Case{"\uD5E4\uB4DC", "'\uD5E4\uB4DC'"},
        Case{"a\x1b[2Jb", R"($'a\x1b[2Jb')"}, Case{"a\nb'c", R"($'a\x0ab\'c')"},
        Case{"\xFF\\", R"($'\xff\\')"},
        Case{"\u202Eb", R"($'\xe2\x80\xaeb')"}}) {
    EXPECT_EQ(shell_word(text), expected);
  }
}

TEST(TerminalTextTest, IsCutBetweenCharacters) {
  EXPECT_EQ(beginning_of("heads", 3), "hea");
  EXPECT_EQ(beginning_of("heads", 9), "heads");
  EXPECT_EQ(beginning_of("a\uD5E4", 2), "a");
  EXPECT_EQ(beginning_of("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(cut_to("internationalisation", 8), "inter...");
  EXPECT_EQ(cut_to("matter", 6), "matter");
  EXPECT_EQ(cut_to("\uD5E4\uB4DC\uD5E4", 5), "\uD5E4...");
}

}  // namespace
}  // namespace headwise::cli
