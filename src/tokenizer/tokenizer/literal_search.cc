#include "tokenizer/literal_search.h"

#include <algorithm>
#include <span>
#include <utility>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

std::size_t byte_index(char byte) { return static_cast<unsigned char>(byte); }

}  // namespace

LiteralSearch::LiteralSearch(std::vector<std::string> literals)
    : literals_(std::move(literals)) {
  for (std::uint32_t n = 0; n < literals_.size(); ++n) {
    if (!literals_[n].empty()) {
      sorted_.push_back(n);
    }
  }
  std::ranges::stable_sort(sorted_, [&](std::uint32_t a, std::uint32_t b) {
    return literals_[a] < literals_[b];
  });
  for (std::uint32_t n = 0; n < sorted_.size(); ++n) {
    const char byte = literals_[sorted_[n]].front();
    Range& range = first_[byte_index(byte)];
    if (range.end == 0) {
      range.begin = n;
      first_bytes_ += byte;
    }
    range.end = n + 1;
  }
}

std::optional<LiteralSearch::Found> LiteralSearch::find(
    std::string_view text, std::size_t from) const {
  for (std::size_t at = next_candidate(text, from); at < text.size();
       at = next_candidate(text, at + 1)) {
    if (auto found = longest_at(text.substr(at))) {
      found->begin += at;
      found->end += at;
      return found;
    }
  }
  return {};
}

std::size_t LiteralSearch::next_candidate(std::string_view text,
                                          std::size_t at) const {
  if (first_bytes_.size() <= 1) {
    const std::size_t found = first_bytes_.empty()
                                  ? std::string_view::npos
                                  : text.find(first_bytes_.front(), at);
    return std::min(found, text.size());
  }
  while (at < text.size() && first_[byte_index(text[at])].end == 0) {
    ++at;
  }
  return at;
}

std::optional<LiteralSearch::Found> LiteralSearch::longest_at(
    std::string_view text) const {
  Range range = first_[byte_index(text.front())];
  std::optional<Found> longest;
  for (std::size_t depth = 1; range.begin < range.end; ++depth) {
    const std::uint32_t first = sorted_[range.begin];
    if (literals_[first].size() == depth) {
      longest = Found{0, depth, first};
    }
    if (depth == text.size()) {
      break;
    }
    range = narrowed(range, depth, text[depth]);
  }
  return longest;
}

LiteralSearch::Range LiteralSearch::narrowed(Range range, std::size_t depth,
                                             char byte) const {
  // A literal that ends here comes before all that continue.
  const auto next = [&](std::uint32_t n) {
    const std::string& literal = literals_[n];
    return depth < literal.size() ? static_cast<int>(byte_index(literal[depth]))
                                  : -1;
  };
  const auto inside =
      std::span(sorted_).subspan(range.begin, range.end - range.begin);
  // equal_range() is not for clang 14 with the standard library of GCC 12.
  const int wanted = static_cast<int>(byte_index(byte));
  const auto begin = std::ranges::lower_bound(inside, wanted, {}, next);
  const auto end = std::ranges::upper_bound(inside, wanted, {}, next);
  return {range.begin + static_cast<std::uint32_t>(begin - inside.begin()),
          range.begin + static_cast<std::uint32_t>(end - inside.begin())};
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
