#include "encode/deal_sentences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace headwise::cli {
namespace {

constexpr std::size_t kMostBytes = 600;

// Lines of 1 to 200 bytes, in a fixed disorder.
std::vector<std::string> lines(std::size_t count) {
  std::vector<std::string> made;
  for (std::size_t n = 0; n < count; ++n) {
    made.emplace_back(1 + n * 7919 % 200, 'a');
  }
  return made;
}

std::vector<std::vector<RowInterval>> deal(
    const std::vector<std::string>& lines, const std::vector<RowInterval>& done,
    std::size_t ranks) {
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  return deal_sentences(views, done, kMostBytes, ranks);
}

TEST(DealSentencesTest, EverySentenceIsDealtOnceOrDone) {
  for (const std::size_t count : {1u, 3u, 100u, 5000u}) {
    const auto sentences = lines(count);
    for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
      const std::vector<RowInterval> done = {{count / 2, count / 4}, {0, 1}};
      std::vector<int> times(count);
      auto all = deal(sentences, done, ranks);
      ASSERT_EQ(all.size(), ranks);
      all.push_back(done);
      for (const auto& ranges : all) {
        for (const RowInterval& range : ranges) {
          for (std::size_t n = range.first; n < range.end(); ++n) {
            ++times.at(n);
          }
        }
      }
      EXPECT_EQ(std::ranges::count(times, 1),
                static_cast<std::ptrdiff_t>(count))
          << count << " sentences, " << ranks << " ranks";
    }
  }
}

TEST(DealSentencesTest, RanksHaveAboutTheSameText) {
  auto sentences = lines(5000);
  std::ranges::sort(sentences);
  for (const std::size_t ranks : {2u, 3u, 8u}) {
    std::size_t least = sentences.size() * 200;
    std::size_t most = 0;
    for (const auto& ranges : deal(sentences, {}, ranks)) {
      std::size_t bytes = 0;
      for (const RowInterval& range : ranges) {
        for (std::size_t n = range.first; n < range.end(); ++n) {
          bytes += sentences[n].size();
        }
      }
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    EXPECT_LT(static_cast<double>(most), 1.05 * static_cast<double>(least))
        << ranks << " ranks";
  }
}

TEST(DealSentencesTest, NothingIsLeftOfADoneText) {
  const auto dealt = deal(lines(10), {{4, 6}, {0, 4}}, 2);
  EXPECT_TRUE(dealt[0].empty());
  EXPECT_TRUE(dealt[1].empty());
}

}  // namespace
}  // namespace headwise::cli
