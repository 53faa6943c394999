// The vocabulary of a model: texts to ids and back. One pool has all texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class TokenTable {
 public:
  using Entry = std::pair<std::string, std::uint32_t>;

  TokenTable() = default;
  // The last entry wins: of equal texts, so that the ids of the entries before
  // it belong to no text, and of equal ids in token(). The reference chooses
  // among equal ids at random. All texts together have less than 2^32 bytes.
  explicit TokenTable(std::span<const Entry> entries);

  // Different texts.
  std::size_t size() const { return entries_.size(); }
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::optional<std::string_view> token(std::uint32_t id) const;
  // Every text and its id.
  std::vector<std::pair<std::string_view, std::uint32_t>> all() const;
  // Whether two texts have one id.
  bool repeats_ids() const;

 private:
  struct Text {
    std::uint32_t id = 0;
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  // `tag`: the upper half of the hash; the lower one is the place.
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t entry = 0;  // plus one; 0: free
  };

  std::string_view text(const Text& entry) const {
    return std::string_view(pool_).substr(entry.begin, entry.size);
  }
  // Where the text is, or the free slot for it.
  std::size_t slot(std::string_view wanted, std::uint64_t hash) const;
  void add(const Entry& entry);

  std::string pool_;
  std::vector<Text> entries_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> by_id_;  // entries in the order of their ids
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
