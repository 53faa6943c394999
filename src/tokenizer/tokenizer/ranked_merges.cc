#include <algorithm>
#include <limits>

#include "tokenizer/tokenizer_file.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

struct JoinedPart {
  std::size_t begin = 0;
  std::uint32_t rank_with_next = kNoRank;
};

// Cuts a text and joins until two parts are left, or nothing can be joined. The
// last part is the end of the text.
void join_parts(std::string_view text, FirstParts first, const TokenIds& ranks,
                std::vector<JoinedPart>& parts) {
  parts.clear();
  const bool in_bytes = first == FirstParts::bytes;
  for (std::size_t at = 0; at < text.size();
       at += in_bytes ? 1 : first_character(text.substr(at)).bytes) {
    parts.push_back({at});
  }
  parts.push_back({text.size()});
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

std::vector<RankedMerge> merges_of(std::span<const NamedToken> tokens,
                                   FirstParts first) {
  TokenIds ranks(tokens.size());
  for (const auto& [text, rank] : tokens) {
    ranks.emplace(text, rank);
  }
  std::vector<RankedMerge> merges;
  std::vector<JoinedPart> parts;
  for (const auto& [token, rank] : tokens) {
    const std::string_view text = token;
    join_parts(text, first, ranks, parts);
    if (parts.size() == 3) {
      const std::size_t cut = parts[1].begin;
      merges.push_back({text.substr(0, cut), text.substr(cut), rank});
    }
  }
  std::ranges::stable_sort(merges, {}, &RankedMerge::rank);
  return merges;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
