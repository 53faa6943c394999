#include "tokenizer/ranked_merges.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

using TokenRanks = std::unordered_map<std::string_view, std::uint32_t>;

struct JoinedPart {
  std::size_t begin = 0;
  std::uint32_t rank_with_next = kNoRank;
};

// The last one is the end of the text.
void cut_text(std::string_view text, FirstParts first,
              std::vector<JoinedPart>& parts) {
  parts.clear();
  for (std::size_t at = 0; at < text.size();) {
    parts.push_back({at});
    at +=
        first == FirstParts::bytes ? 1 : first_character(text.substr(at)).bytes;
  }
  parts.push_back({text.size()});
}

// Joins until two parts are left, or nothing can be joined.
void join_parts(std::string_view text, const TokenRanks& ranks,
                std::vector<JoinedPart>& parts) {
  const auto set_rank = [&](std::size_t n) {
    parts[n].rank_with_next = kNoRank;
    if (n + 2 < parts.size()) {
      const std::size_t begin = parts[n].begin;
      const auto found =
          ranks.find(text.substr(begin, parts[n + 2].begin - begin));
      parts[n].rank_with_next = found == ranks.end() ? kNoRank : found->second;
    }
  };
  for (std::size_t n = 0; n < parts.size(); ++n) {
    set_rank(n);
  }
  while (parts.size() > 3) {
    const auto lowest =
        std::ranges::min_element(parts, {}, &JoinedPart::rank_with_next);
    if (lowest->rank_with_next == kNoRank) {
      return;
    }
    const auto n = static_cast<std::size_t>(lowest - parts.begin());
    parts.erase(lowest + 1);
    set_rank(n);
    set_rank(n > 0 ? n - 1 : n);
  }
}

}  // namespace

std::vector<RankedMerge> merges_of(std::span<const RankedToken> tokens,
                                   FirstParts first) {
  TokenRanks ranks(tokens.size());
  for (const auto& [text, rank] : tokens) {
    ranks.emplace(text, rank);
  }
  std::vector<RankedMerge> merges;
  std::vector<JoinedPart> parts;
  for (const auto& [text, rank] : tokens) {
    cut_text(text, first, parts);
    join_parts(text, ranks, parts);
    if (parts.size() == 3) {
      const std::size_t cut = parts[1].begin;
      merges.push_back({text.substr(0, cut), text.substr(cut), rank});
    }
  }
  std::ranges::stable_sort(merges, {}, &RankedMerge::rank);
  return merges;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
