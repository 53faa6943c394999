#include "tokenizer/bpe_cuts.h"

#include <algorithm>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

BpeCuts::BpeCuts(std::span<const Merge> merges, const TokenTable& vocabulary) {
  for (Boundary& boundary : boundaries_) {
    std::string after;
    append_character(after, boundary.after);
    boundary.known = vocabulary.find(after).has_value();
    for (const auto& [left, right] : merges) {
      if (!left.empty() && right.starts_with(after)) {
        boundary.joined.push_back(last_character(left).code);
      }
    }
    std::ranges::sort(boundary.joined);
    const auto repeated = std::ranges::unique(boundary.joined);
    boundary.joined.erase(repeated.begin(), repeated.end());
  }
}

bool BpeCuts::may_cut(char32_t before, char32_t after) const {
  return std::ranges::any_of(boundaries_, [&](const Boundary& boundary) {
    return boundary.after == after && boundary.known &&
           !std::ranges::binary_search(boundary.joined, before);
  });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
