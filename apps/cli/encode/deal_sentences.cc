#include "deal_sentences.h"

#include <algorithm>

namespace headwise::cli {
namespace {

// Enough ranges per rank to give all ranks nearly the same amount of text.
constexpr std::size_t kRangesOfARank = 64;
constexpr std::size_t kLongest = 1024;

std::vector<RowInterval> not_done(std::size_t rows,
                                  std::vector<RowInterval> done) {
  std::ranges::sort(done, {}, &RowInterval::first);
  done.push_back({rows, 0});
  std::vector<RowInterval> gaps;
  std::size_t next = 0;
  for (const RowInterval& range : done) {
    if (range.first > next) {
      gaps.push_back({next, range.first - next});
    }
    next = range.end();
  }
  return gaps;
}

}  // namespace

std::vector<std::vector<RowInterval>> deal_sentences(
    std::span<const std::string_view> sentences,
    const std::vector<RowInterval>& done, std::size_t most_bytes,
    std::size_t ranks) {
  constexpr std::size_t kOfEachSentence = 8;  // its special tokens
  const std::size_t longest =
      ranks == 1
          ? kLongest
          : std::clamp<std::size_t>(sentences.size() / (kRangesOfARank * ranks),
                                    1, kLongest);
  std::vector<std::vector<RowInterval>> dealt(ranks);
  std::vector<std::size_t> loads(ranks);
  for (const RowInterval& gap : not_done(sentences.size(), done)) {
    for (std::size_t first = gap.first; first < gap.end(); first += longest) {
      const RowInterval range = {first, std::min(longest, gap.end() - first)};
      const auto to = static_cast<std::size_t>(std::ranges::min_element(loads) -
                                               loads.begin());
      for (std::size_t n = range.first; n < range.end(); ++n) {
        loads[to] +=
            kOfEachSentence + std::min(sentences[n].size(), most_bytes);
      }
      dealt[to].push_back(range);
    }
  }
  return dealt;
}

}  // namespace headwise::cli
