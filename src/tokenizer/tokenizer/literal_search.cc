#include "tokenizer/literal_search.h"

#include <algorithm>
#include <map>
#include <span>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

unsigned char byte_index(char byte) { return static_cast<unsigned char>(byte); }

// The first eight bytes as a number of the same order.
std::uint64_t ordered_bytes(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t n = 0; n < sizeof(number); ++n) {
    number = number << 8U | (n < text.size() ? byte_index(text[n]) : 0U);
  }
  return number;
}

// Numbers are compared faster than texts.
void sort_by_text(std::vector<PieceTrie::Piece>& pieces) {
  std::vector<std::pair<std::uint64_t, PieceTrie::Piece>> keyed;
  keyed.reserve(pieces.size());
  for (const PieceTrie::Piece& piece : pieces) {
    keyed.emplace_back(ordered_bytes(piece.first), piece);
  }
  std::ranges::sort(keyed);
  std::ranges::transform(keyed, pieces.begin(),
                         [](const auto& each) { return each.second; });
}

}  // namespace

PieceTrie::PieceTrie(std::vector<Piece> pieces) {
  sort_by_text(pieces);
  std::vector<std::span<const Piece>> level = {pieces};  // of each node
  nodes_.emplace_back();
  bytes_.push_back(0);
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<std::span<const Piece>> next;
    std::size_t node = nodes_.size() - level.size();
    for (std::span<const Piece> rest : level) {
      if (!rest.empty() && rest.front().first.size() == depth) {
        nodes_[node].value = rest.front().second;
        rest = rest.subspan(1);
      }
      nodes_[node].children = static_cast<std::uint32_t>(nodes_.size());
      while (!rest.empty()) {
        const auto byte = [&](const Piece& piece) {
          return static_cast<unsigned char>(piece.first[depth]);
        };
        bytes_.push_back(byte(rest.front()));
        const auto end =
            std::ranges::upper_bound(rest, bytes_.back(), {}, byte);
        const auto count = static_cast<std::size_t>(end - rest.begin());
        next.push_back(rest.first(count));
        rest = rest.subspan(count);
        nodes_.emplace_back();
      }
      ++node;
    }
    level = std::move(next);
  }
  nodes_.push_back({static_cast<std::uint32_t>(nodes_.size()), kNone});
}

std::uint32_t PieceTrie::child(std::uint32_t node, char byte) const {
  const auto wanted = static_cast<unsigned char>(byte);
  std::uint32_t at = nodes_[node].children;
  std::uint32_t count = nodes_[node + 1].children - at;
  while (count > 1) {  // without a branch on the bytes, which no one foresees
    const std::uint32_t half = count / 2;
    at += bytes_[at + half - 1] < wanted ? half : 0;
    count -= half;
  }
  return count == 1 && bytes_[at] == wanted ? at : kNone;
}

std::uint32_t PieceTrie::descendant(std::string_view bytes) const {
  std::uint32_t node = root();
  for (const char byte : bytes) {
    node = node == kNone ? kNone : child(node, byte);
  }
  return node;
}

PieceTrie::Match PieceTrie::longest(std::uint32_t node,
                                    std::string_view text) const {
  Match longest;
  for (std::size_t n = 0; n < text.size() && node != kNone; ++n) {
    node = child(node, text[n]);
    if (node != kNone && value(node) != kNone) {
      longest = {n + 1, value(node)};
    }
  }
  return longest;
}

LiteralSearch::LiteralSearch(const std::vector<std::string>& literals) {
  std::map<std::string_view, std::uint32_t> pieces;
  for (std::uint32_t n = 0; n < literals.size(); ++n) {
    const std::string& literal = literals[n];
    if (!literal.empty()) {
      pieces.emplace(literal, n);
      bool& known = is_first_byte_[byte_index(literal[0])];
      first_bytes_ += known ? "" : literal.substr(0, 1);
      known = true;
    }
  }
  trie_ = PieceTrie({pieces.begin(), pieces.end()});
}

std::optional<LiteralSearch::Found> LiteralSearch::find(
    std::string_view text, std::size_t from) const {
  for (;; ++from) {
    if (first_bytes_.size() > 1) {
      while (from < text.size() && !is_first_byte_[byte_index(text[from])]) {
        ++from;
      }
    } else {  // with memchr(), which is faster
      from =
          first_bytes_.empty() ? text.size() : text.find(first_bytes_[0], from);
    }
    if (from >= text.size()) {
      return {};
    }
    const auto match = trie_.longest(PieceTrie::root(), text.substr(from));
    if (match.size > 0) {
      return Found{from, from + match.size, match.value};
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
