// Texts by their bytes: which of them does another text begin with, or have?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class PieceTrie {
 public:
  using Piece = std::pair<std::string_view, std::uint32_t>;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Texts are different; no value is kNone.
  explicit PieceTrie(std::vector<Piece> pieces = {});

  // A node is the bytes that lead to it.
  static constexpr std::uint32_t root() { return 0; }
  // kNone if no piece goes on with this byte.
  std::uint32_t child(std::uint32_t node, char byte) const;
  // Of the root: kNone if no piece begins with these bytes.
  std::uint32_t descendant(std::string_view bytes) const;
  // kNone if no piece ends here.
  std::uint32_t value(std::uint32_t node) const { return nodes_[node].value; }

  struct Match {
    std::size_t size = 0;  // 0: none
    std::uint32_t value = kNone;
  };
  // The longest piece that goes on with bytes that `text` begins with. The node
  // may be kNone.
  Match longest(std::uint32_t node, std::string_view text) const;

 private:
  struct Node {
    std::uint32_t children = 0;  // the first; they end at the next node's
    std::uint32_t value = kNone;
  };

  // Level by level, and in the order of their bytes.
  std::vector<Node> nodes_;
  std::vector<unsigned char> bytes_;  // that lead from a parent to each node
};

// Finds texts in a text: the leftmost, and of those that begin there the
// longest.
class LiteralSearch {
 public:
  LiteralSearch() = default;  // finds nothing
  // Empty literals are never found; of equal ones the first is.
  explicit LiteralSearch(const std::vector<std::string>& literals);

  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t literal = 0;
  };
  // From byte `from` on.
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  PieceTrie trie_;
  std::string first_bytes_;  // each byte that a literal begins with
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
