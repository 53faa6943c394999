// The vocabulary of a model: texts to ids and back. One pool has all texts.
#pragma once

#include <algorithm>
#include <array>
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

  TokenTable() : TokenTable(std::span<const Entry>()) {}
  // The last entry wins: of equal texts, so that the ids of the entries before
  // it belong to no text, and of equal ids in token(). The reference chooses
  // among equal ids at random. All texts together have less than 2^32 bytes.
  explicit TokenTable(std::span<const Entry> entries);

  // Different texts.
  std::size_t size() const { return by_id_.size(); }
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::optional<std::string_view> token(std::uint32_t id) const;
  // Every text and its id.
  std::vector<std::pair<std::string_view, std::uint32_t>> all() const;
  // Whether two texts have one id.
  bool repeats_ids() const;

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  // Has the first bytes itself: a short text is found without the pool.
  struct Slot {
    std::array<std::uint32_t, 2> first_bytes{};
    std::uint32_t size = kFree;
    std::uint32_t begin = 0;  // in the pool
    std::uint32_t id = 0;
  };

  std::string_view text(const Slot& slot) const {
    return std::string_view(pool_).substr(slot.begin, slot.size);
  }
  // Where the text is, or the free slot for it.
  std::size_t place(std::string_view wanted) const;
  void add(const Entry& entry);
  std::uint32_t id_at(std::uint32_t place) const { return slots_[place].id; }

  std::string pool_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> by_id_;  // places, in the order of the ids
};

// The tokens <0x00> to <0xFF>, for the bytes of characters without a token.
class ByteTokens {
 public:
  ByteTokens() = default;  // none
  explicit ByteTokens(const TokenTable& vocabulary);

  std::uint32_t operator[](char byte) const {
    return *ids_[static_cast<unsigned char>(byte)];
  }
  bool has_all(std::string_view bytes) const;
  bool has_every_byte() const { return !has(std::nullopt); }
  bool has_id(std::uint32_t id) const { return has(id); }

 private:
  bool has(std::optional<std::uint32_t> id) const {
    return std::ranges::find(ids_, id) != ids_.end();
  }

  std::array<std::optional<std::uint32_t>, 256> ids_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
