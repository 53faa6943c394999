#include "tokenizer/token_table.h"

#include <cstring>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Both halves of a product of 128 bits: every bit depends on all bits.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^
         static_cast<std::uint64_t>(product >> 64U);
}

template <class Word>
std::uint64_t loaded(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Up to 8 bytes of the text. Texts of one size of at most 8 bytes are equal if
// these are. The loads may overlap, so that no size needs a loop.
std::uint64_t first_bytes(std::string_view text) {
  const char* const at = text.data();
  const std::size_t size = text.size();
  if (size >= 8) {
    return loaded<std::uint64_t>(at);
  }
  if (size >= 4) {
    return loaded<std::uint32_t>(at) | loaded<std::uint32_t>(at + size - 4)
                                           << 32U;
  }
  return size == 0 ? 0
                   : loaded<std::uint8_t>(at) |
                         loaded<std::uint8_t>(at + size / 2) << 8U |
                         loaded<std::uint8_t>(at + size - 1) << 16U;
}

// Fast; not cryptographic, and different on machines of other byte order.
// `first`: first_bytes(text).
std::uint64_t byte_hash(std::uint64_t first, std::string_view text) {
  constexpr std::uint64_t kFirst = 0xA0761D6478BD642F;
  constexpr std::uint64_t kSecond = 0xE7037ED1A0B428DB;
  std::uint64_t hash = mixed(first ^ kFirst, text.size() ^ kSecond);
  while (text.size() > 8) {
    text.remove_prefix(8);
    hash = mixed(first_bytes(text) ^ kFirst, hash ^ kSecond);
  }
  return hash;
}

}  // namespace

std::size_t TextTable::place(std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t first = first_bytes(wanted);
  for (std::size_t n = byte_hash(first, wanted) & mask;; n = (n + 1) & mask) {
    const Slot& slot = slots_[n];
    if (slot.size == wanted.size() && slot.first_bytes == first &&
        (slot.size <= sizeof(first) || text(slot) == wanted)) {
      return n;
    }
    if (slot.size == kFree) {
      return n;
    }
  }
}

std::optional<std::uint32_t> TextTable::find(std::string_view text) const {
  const Slot& slot = slots_[place(text)];
  return slot.size == kFree ? std::nullopt : std::optional(slot.number);
}

std::size_t TextTable::add(std::string_view text, std::uint32_t number) {
  if (2 * (size_ + 1) > slots_.size()) {
    const auto old =
        std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& slot : old) {
      if (slot.size != kFree) {
        slots_[place(this->text(slot))] = slot;
      }
    }
  }
  const std::size_t at = place(text);
  if (slots_[at].size == kFree) {
    slots_[at] = {first_bytes(text), static_cast<std::uint32_t>(text.size()),
                  static_cast<std::uint32_t>(pool_.size()), number};
    pool_ += text;
    ++size_;
  }
  return at;
}

std::vector<std::pair<std::string_view, std::uint32_t>> TextTable::all() const {
  std::vector<std::pair<std::string_view, std::uint32_t>> all;
  for (const Slot& slot : slots_) {
    if (slot.size != kFree) {
      all.emplace_back(text(slot), slot.number);
    }
  }
  return all;
}

TokenTable::TokenTable(std::span<const Entry> entries, bool keep_ids)
    : texts_(entries.size()) {
  // The last ones first: they stay.
  std::for_each(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
    const auto& [text, id] = entry;
    const std::size_t place = texts_.add(text, id);
    if (keep_ids || texts_.at(place).second == id) {
      by_id_.push_back({id, static_cast<std::uint32_t>(place)});
    }
  });
  std::ranges::stable_sort(by_id_, {}, &Id::id);
  const auto same = [](const Id& a, const Id& b) { return a.id == b.id; };
  by_id_.erase(std::unique(by_id_.begin(), by_id_.end(), same), by_id_.end());
}

std::optional<std::string_view> TokenTable::token(std::uint32_t id) const {
  // Ids without gaps, the usual case, are positions.
  const bool is_position = id < by_id_.size() && by_id_[id].id == id;
  const auto found = is_position
                         ? by_id_.begin() + id
                         : std::ranges::lower_bound(by_id_, id, {}, &Id::id);
  return found != by_id_.end() && found->id == id
             ? std::optional(texts_.at(found->place).first)
             : std::nullopt;
}

ByteTokens::ByteTokens(const TokenTable& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < ids.size(); ++byte) {
    ids[byte] = vocabulary.find(std::string("<0x") + kDigits[byte / 16] +
                                kDigits[byte % 16] + '>');
  }
}

bool ByteTokens::has_all(std::string_view bytes) const {
  return std::ranges::all_of(
      bytes, [&](char byte) { return (*this)[byte].has_value(); });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
