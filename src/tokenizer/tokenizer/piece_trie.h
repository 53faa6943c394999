// Texts by their bytes: which texts does another text begin with?
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Texts are different; no value is kNone.
  explicit PieceTrie(std::vector<Piece> pieces);

  // A node is the bytes that lead to it.
  static constexpr std::uint32_t root() { return 0; }
  // kNone if no piece goes on with this byte.
  std::uint32_t child(std::uint32_t node, char byte) const;
  std::uint32_t descendant(std::uint32_t node, std::string_view bytes) const;
  // kNone if no piece ends here.
  std::uint32_t value(std::uint32_t node) const { return nodes_[node].value; }

 private:
  struct Node {
    std::uint32_t children = 0;  // the first; they end at the next node's
    std::uint32_t value = kNone;
  };

  // Level by level, and in the order of their bytes.
  std::vector<Node> nodes_;
  std::vector<unsigned char> bytes_;  // that lead from a parent to each node
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
