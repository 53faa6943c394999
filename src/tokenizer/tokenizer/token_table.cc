#include "tokenizer/token_table.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "tokenizer/byte_hash.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

TokenTable::TokenTable(std::span<const Entry> entries)
    : slots_(std::bit_ceil(2 * entries.size() + 1)) {
  pool_.reserve(std::accumulate(entries.begin(), entries.end(), std::size_t{0},
                                [](std::size_t sum, const Entry& entry) {
                                  return sum + entry.first.size();
                                }));
  entries_.reserve(entries.size());
  for (const Entry& entry : entries) {
    add(entry);
  }
  by_id_.resize(entries_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  std::ranges::stable_sort(by_id_, {},
                           [&](std::uint32_t n) { return entries_[n].id; });
}

void TokenTable::add(const Entry& entry) {
  const auto& [text, id] = entry;
  const std::uint64_t hash = byte_hash(text);
  Slot& found = slots_[slot(text, hash)];
  if (found.entry != 0) {
    entries_[found.entry - 1].id = id;
    return;
  }
  entries_.push_back({id, static_cast<std::uint32_t>(pool_.size()),
                      static_cast<std::uint32_t>(text.size())});
  pool_ += text;
  found = {static_cast<std::uint32_t>(hash >> 32U),
           static_cast<std::uint32_t>(entries_.size())};
}

std::size_t TokenTable::slot(std::string_view wanted,
                             std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32U);
  std::size_t n = hash & mask;
  while (
      slots_[n].entry != 0 &&
      (slots_[n].tag != tag || text(entries_[slots_[n].entry - 1]) != wanted)) {
    n = (n + 1) & mask;
  }
  return n;
}

std::optional<std::uint32_t> TokenTable::find(std::string_view text) const {
  if (slots_.empty()) {
    return {};
  }
  const Slot& found = slots_[slot(text, byte_hash(text))];
  return found.entry == 0 ? std::nullopt
                          : std::optional(entries_[found.entry - 1].id);
}

std::optional<std::string_view> TokenTable::token(std::uint32_t id) const {
  // Ids without gaps, the usual case, are places.
  if (id < by_id_.size() && entries_[by_id_[id]].id == id &&
      (id + 1 == by_id_.size() || entries_[by_id_[id + 1]].id != id)) {
    return text(entries_[by_id_[id]]);
  }
  const auto after = std::ranges::upper_bound(
      by_id_, id, {}, [&](std::uint32_t n) { return entries_[n].id; });
  if (after == by_id_.begin() || entries_[*(after - 1)].id != id) {
    return {};
  }
  return text(entries_[*(after - 1)]);
}

std::vector<std::pair<std::string_view, std::uint32_t>> TokenTable::all()
    const {
  std::vector<std::pair<std::string_view, std::uint32_t>> all;
  all.reserve(size());
  for (const Text& entry : entries_) {
    all.emplace_back(text(entry), entry.id);
  }
  return all;
}

bool TokenTable::repeats_ids() const {
  return std::ranges::adjacent_find(by_id_, {}, [&](std::uint32_t n) {
           return entries_[n].id;
         }) != by_id_.end();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
