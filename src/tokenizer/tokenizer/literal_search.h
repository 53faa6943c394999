// Finds texts in a text: the leftmost, and of those that begin there the
// longest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class LiteralSearch {
 public:
  LiteralSearch() = default;  // finds nothing
  // Empty literals are never found; of equal ones the first is.
  explicit LiteralSearch(std::vector<std::string> literals);

  struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t literal = 0;
  };
  // From byte `from` on.
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  // Literals sorted_[begin, end).
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  std::size_t next_candidate(std::string_view text, std::size_t at) const;
  // The longest literal that `text`, not empty, begins with.
  std::optional<Found> longest_at(std::string_view text) const;
  Range narrowed(Range range, std::size_t depth, char byte) const;

  std::vector<std::string> literals_;
  std::vector<std::uint32_t> sorted_;  // the literals, by their bytes
  std::array<Range, 256> first_{};     // those that begin with a byte
  std::string first_bytes_;            // the bytes that one begins with
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
