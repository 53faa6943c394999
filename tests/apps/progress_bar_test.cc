#include "shell/progress_bar.h"

#include <gtest/gtest.h>

#include <string>

namespace headwise::cli {
namespace {

// Columns: '█' and its like take one, Hangul two.
std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    count += byte >> 6 == 2 ? 0 : byte >= 0xE3 ? 2 : 1;
  }
  return count;
}

bool ends_within_a_character(const std::string& text) {
  std::size_t follow = 0;
  while (follow < text.size() &&
         static_cast<unsigned char>(text[text.size() - 1 - follow]) >> 6 == 2) {
    ++follow;
  }
  if (follow == text.size()) {
    return follow != 0;
  }
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - follow]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : 3;
  return follow + 1 != bytes;
}

// Of items that nobody named.
std::string bar_line(const std::string& label, std::size_t done,
                     std::size_t total, double elapsed, std::size_t width,
                     std::string_view note = "") {
  return cli::bar_line({label, "items"}, done, total, elapsed, width, note);
}

TEST(BarLineTest, LooksAsUsersOfTqdmKnowItAndNamesWhatItCounts) {
  const BarWords padding = {"padding", "sequences"};
  EXPECT_EQ(bar_line(padding, 4, 10, 0.768, 64),
            "padding:  40%|████      | 4/10 sequences [00:00<00:01, 5.21it/s]");
  EXPECT_EQ(bar_line(padding, 0, 10, 0, 57),
            "padding:   0%|          | 0/10 sequences [00:00<?, ?it/s]");
  EXPECT_EQ(
      bar_line(padding, 10, 10, 2, 65),
      "padding: 100%|██████████| 10/10 sequences [00:02<00:00, 5.00it/s]");
}

TEST(BarLineTest, ANoteStandsBehindTheRate) {
  EXPECT_EQ(
      bar_line("train", 4, 10, 0.768, 70, "loss=0.693"),
      "train:  40%|████      | 4/10 items [00:00<00:01, 5.21it/s, loss=0.693]");
}

TEST(BarLineTest, FillsByEighthsOfAColumn) {
  const auto bar = [](std::size_t done) {
    const std::string line = bar_line("", done, 16, 0, 47);
    return line.substr(line.find('|') + 1,
                       line.rfind('|') - line.find('|') - 1);
  };
  // As wide as it can be here: 40 columns less the text.
  const std::size_t width = columns(bar(0));
  ASSERT_GT(width, 4u);
  EXPECT_EQ(bar(0), std::string(width, ' '));
  EXPECT_EQ(columns(bar(7)), width);
  EXPECT_NE(bar(7), bar(8));
  EXPECT_EQ(bar(16).find(' '), std::string::npos);
}

TEST(BarLineTest, SaysSecondsAnItemWhereItIsSlow) {
  EXPECT_EQ(bar_line("x", 2, 4, 5, 46).substr(0, 6), "x:  50");
  EXPECT_NE(bar_line("x", 2, 4, 5, 60).find("[00:05<00:05, 2.50s/it]"),
            std::string::npos);
}

TEST(BarLineTest, HoursAndEndlessTimesAreShown) {
  EXPECT_NE(bar_line("x", 1, 2, 3725, 70).find("[1:02:05<1:02:05,"),
            std::string::npos);
  EXPECT_NE(bar_line("x", 1, ~std::size_t{0}, 1e9, 90).find("<1000000:00:00"),
            std::string::npos);
}

TEST(BarLineTest, NothingToDoIsDone) {
  const std::string line = bar_line("x", 0, 0, 0, 60);
  EXPECT_NE(line.find("100%"), std::string::npos);
  EXPECT_NE(line.find("0/0 items"), std::string::npos);
}

TEST(BarLineTest, MoreThanAllIsAll) {
  EXPECT_EQ(bar_line("x", 12, 10, 1, 60), bar_line("x", 10, 10, 1, 60));
}

TEST(BarLineTest, IsNeverWiderThanTheTerminalNorCutsACharacter) {
  for (const char* label : {"padding", "패딩", ""}) {
    for (std::size_t width = 0; width < 120; ++width) {
      for (const std::size_t done : {0u, 3u, 10u}) {
        const std::string line = bar_line(label, done, 10, 1.5, width);
        ASSERT_LE(columns(line), width) << line;
        ASSERT_FALSE(ends_within_a_character(line)) << width;
      }
    }
  }
}

TEST(BarLineTest, TheBarItselfIsAtMostFortyColumns) {
  EXPECT_EQ(columns(bar_line("x", 0, 10, 0, 500)),
            columns("x:   0%|| 0/10 items [00:00<?, ?it/s]") + 40);
}

}  // namespace
}  // namespace headwise::cli
