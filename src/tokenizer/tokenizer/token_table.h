// The vocabulary of a model: texts to ids and back.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

// Texts, each with a number. One pool has all of them, less than 2^32 bytes.
class TextTable {
 public:
  // `texts`: the number of texts up to which the table does not grow.
  explicit TextTable(std::size_t texts = 0)
      : slots_(std::bit_ceil(2 * texts)) {}

  std::size_t size() const { return size_; }
  std::optional<std::uint32_t> find(std::string_view text) const;
  // A text that the table has keeps its number. Gives back the text's place,
  // which changes when the table grows.
  std::size_t add(std::string_view text, std::uint32_t number);
  // The text and the number at a place.
  std::pair<std::string_view, std::uint32_t> at(std::size_t place) const {
    return {text(slots_[place]), slots_[place].number};
  }
  std::vector<std::pair<std::string_view, std::uint32_t>> all() const;

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  struct Slot {
    std::uint64_t first_bytes = 0;  // short texts are found without the pool
    std::uint32_t size = kFree;
    std::uint32_t begin = 0;  // in the pool
    std::uint32_t number = 0;
  };

  std::string_view text(const Slot& slot) const {
    return std::string_view(pool_).substr(slot.begin, slot.size);
  }
  // Where the text is, or the free slot for it.
  std::size_t place(std::string_view wanted) const;

  std::string pool_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

class TokenTable {
 public:
  using Entry = std::pair<std::string, std::uint32_t>;

  TokenTable() = default;
  // The last entry wins: of equal texts, so that the ids of the entries before
  // it belong to no text unless `keep_ids`, and of equal ids in token(). The
  // reference chooses among equal ids at random.
  explicit TokenTable(std::span<const Entry> entries, bool keep_ids = false);

  // Texts may share an id or, with `keep_ids`, ids a text.
  std::size_t size() const { return std::max(texts_.size(), by_id_.size()); }
  bool repeats_ids() const { return by_id_.size() < texts_.size(); }
  std::optional<std::uint32_t> find(std::string_view text) const {
    return texts_.find(text);
  }
  std::optional<std::string_view> token(std::uint32_t id) const;
  // Every text and its id.
  auto all() const { return texts_.all(); }

 private:
  TextTable texts_;
  struct Id {
    std::uint32_t id = 0;
    std::uint32_t place = 0;  // of its text
  };
  std::vector<Id> by_id_;  // in the order of the ids
};

// The tokens <0x00> to <0xFF>, for the bytes of characters without a token.
struct ByteTokens {
  ByteTokens() = default;  // none
  explicit ByteTokens(const TokenTable& vocabulary);

  const std::optional<std::uint32_t>& operator[](char byte) const {
    return ids[static_cast<unsigned char>(byte)];
  }
  bool has_all(std::string_view bytes) const;

  std::array<std::optional<std::uint32_t>, 256> ids{};
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
