#include "tokenizer/token_table.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "tokenizer/byte_hash.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

TokenTable::TokenTable(std::span<const Entry> entries)
    : slots_(std::bit_ceil(entries.size() + entries.size() / 2 + 1)) {
  const auto bytes = [](std::size_t sum, const Entry& entry) {
    return sum + entry.first.size();
  };
  pool_.reserve(
      std::accumulate(entries.begin(), entries.end(), std::size_t{0}, bytes));
  by_id_.reserve(entries.size());
  for (const Entry& entry : entries) {
    add(entry);
  }
  std::ranges::stable_sort(by_id_, {},
                           [&](std::uint32_t place) { return id_at(place); });
}

void TokenTable::add(const Entry& entry) {
  const auto& [text, id] = entry;
  const std::size_t at = place(text);
  Slot& slot = slots_[at];
  if (slot.size == kFree) {
    slot.first_bytes =
        std::bit_cast<std::array<std::uint32_t, 2>>(first_bytes(text));
    slot.size = static_cast<std::uint32_t>(text.size());
    slot.begin = static_cast<std::uint32_t>(pool_.size());
    pool_ += text;
    by_id_.push_back(static_cast<std::uint32_t>(at));
  }
  slot.id = id;
}

std::size_t TokenTable::place(std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  const auto first =
      std::bit_cast<std::array<std::uint32_t, 2>>(first_bytes(wanted));
  for (std::size_t n = byte_hash(wanted) & mask;; n = (n + 1) & mask) {
    const Slot& slot = slots_[n];
    if (slot.size == kFree ||
        (slot.size == wanted.size() && slot.first_bytes == first &&
         (slot.size <= sizeof(first) || text(slot) == wanted))) {
      return n;
    }
  }
}

std::optional<std::uint32_t> TokenTable::find(std::string_view text) const {
  const Slot& slot = slots_[place(text)];
  return slot.size == kFree ? std::nullopt : std::optional(slot.id);
}

std::optional<std::string_view> TokenTable::token(std::uint32_t id) const {
  const auto has = [&](std::size_t n) {
    return n < by_id_.size() && id_at(by_id_[n]) == id;
  };
  // Ids without gaps, the usual case, are positions.
  if (has(id) && !has(std::size_t{id} + 1)) {
    return text(slots_[by_id_[id]]);
  }
  const auto after = std::ranges::upper_bound(
      by_id_, id, {}, [&](std::uint32_t place) { return id_at(place); });
  if (after == by_id_.begin() || id_at(*std::prev(after)) != id) {
    return {};
  }
  return text(slots_[*std::prev(after)]);
}

std::vector<std::pair<std::string_view, std::uint32_t>> TokenTable::all()
    const {
  std::vector<std::pair<std::string_view, std::uint32_t>> all;
  all.reserve(size());
  for (const std::uint32_t place : by_id_) {
    all.emplace_back(text(slots_[place]), id_at(place));
  }
  return all;
}

bool TokenTable::repeats_ids() const {
  return std::ranges::adjacent_find(by_id_, {}, [&](std::uint32_t place) {
           return id_at(place);
         }) != by_id_.end();
}

ByteTokens::ByteTokens(const TokenTable& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < ids_.size(); ++byte) {
    const std::array text = {
        '<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    ids_[byte] = vocabulary.find({text.data(), text.size()});
  }
}

bool ByteTokens::has_all(std::string_view bytes) const {
  return std::ranges::all_of(bytes, [&](char byte) {
    return ids_[static_cast<unsigned char>(byte)].has_value();
  });
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
