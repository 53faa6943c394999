#include "tokenizer/ranked_merges.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

// Joins the parts of one text after another.
class Joiner {
 public:
  Joiner(std::span<const RankedToken> tokens, FirstParts first)
      : first_(first) {
    ranks_.reserve(tokens.size());
    for (const RankedToken& token : tokens) {
      ranks_.emplace(token.text, token.rank);
    }
  }

  // Where the second of the last two parts begins; nothing if `text` does not
  // become one part, or was one.
  std::optional<std::size_t> last_cut(std::string_view text) {
    cut(text);
    if (parts_.size() < 2) {
      return {};
    }
    for (std::size_t n = 0; n + 1 < parts_.size(); ++n) {
      set_rank(text, n);
    }
    while (parts_.size() > 2) {
      const auto lowest =
          std::ranges::min_element(parts_, {}, &Part::rank_with_next);
      if (lowest->rank_with_next == kNoRank) {
        return {};
      }
      const auto n = static_cast<std::size_t>(lowest - parts_.begin());
      parts_.erase(lowest + 1);
      set_rank(text, n);
      if (n > 0) {
        set_rank(text, n - 1);
      }
    }
    return parts_[1].begin;
  }

 private:
  struct Part {
    std::size_t begin = 0;
    std::uint32_t rank_with_next = kNoRank;
  };

  void cut(std::string_view text) {
    parts_.clear();
    for (std::size_t at = 0; at < text.size();) {
      parts_.push_back({at});
      at += first_ == FirstParts::bytes
                ? 1
                : first_character(text.substr(at)).bytes;
    }
  }

  void set_rank(std::string_view text, std::size_t n) {
    parts_[n].rank_with_next = kNoRank;
    if (n + 1 < parts_.size()) {
      const std::size_t end =
          n + 2 < parts_.size() ? parts_[n + 2].begin : text.size();
      const std::size_t begin = parts_[n].begin;
      const auto found = ranks_.find(text.substr(begin, end - begin));
      parts_[n].rank_with_next =
          found == ranks_.end() ? kNoRank : found->second;
    }
  }

  FirstParts first_;
  std::unordered_map<std::string_view, std::uint32_t> ranks_;
  std::vector<Part> parts_;
};

}  // namespace

std::vector<RankedMerge> merges_of(std::span<const RankedToken> tokens,
                                   FirstParts first) {
  Joiner joiner(tokens, first);
  std::vector<RankedMerge> merges;
  merges.reserve(tokens.size());
  for (const auto& [text, rank] : tokens) {
    if (const auto cut = joiner.last_cut(text)) {
      merges.push_back({text.substr(0, *cut), text.substr(*cut), rank});
    }
  }
  std::ranges::stable_sort(merges, {}, &RankedMerge::rank);
  return merges;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
