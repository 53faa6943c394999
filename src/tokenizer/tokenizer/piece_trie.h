// Texts by their bytes: which texts does another text begin with? A double
// array: node `n` has its child of byte `b` at base(n) ^ b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class PieceTrie {
 public:
  using Piece = std::pair<std::string_view, std::uint32_t>;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  PieceTrie() : PieceTrie(std::vector<Piece>()) {}
  // Each text once; the empty one is never found. No value is kNone.
  explicit PieceTrie(std::vector<Piece> pieces);

  // A node is the bytes that lead to it.
  static constexpr std::uint32_t root() { return 0; }
  // kNone if no piece goes on with this byte.
  std::uint32_t child(std::uint32_t node, char byte) const {
    const std::uint32_t at =
        nodes_[node].base ^ static_cast<unsigned char>(byte);
    return nodes_[at].parent == node ? at : kNone;
  }
  std::uint32_t descendant(std::uint32_t node, std::string_view bytes) const;
  // kNone if no piece ends here.
  std::uint32_t value(std::uint32_t node) const { return nodes_[node].value; }

 private:
  friend class PieceTrieBuilder;
  struct Node {
    std::uint32_t base = 0;
    std::uint32_t parent = kNone;  // kNone: free, or the root
    std::uint32_t value = kNone;
  };

  std::vector<Node> nodes_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
