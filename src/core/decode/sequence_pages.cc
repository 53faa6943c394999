#include "decode/sequence_pages.h"

#include <algorithm>
#include <numeric>

namespace headwise::inline HEADWISE_ABI {

SequencePages::SequencePages(const Sizes& sizes)
    : sizes_(sizes),
      kept_pages_(sizes.window ? pages_for(static_cast<std::size_t>(
                                     sizes.window->keep_first))
                               : 0),
      pool_(sizes.regions, sizes.pages_of_a_region),
      slots_(sizes.sequences),
      free_slots_(sizes.sequences),
      table_(sizes.sequences * sizes.pages_of_a_region),
      leaving_(pool_.pages(), 0) {
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0u);
}

// ---- Sequences ----

std::optional<SequenceId> SequencePages::add() {
  if (free_slots_.empty()) {
    return std::nullopt;
  }
  const std::uint32_t number = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[number];
  slot.used = true;
  slot.length = 0;
  slot.released = kept_pages_;
  return SequenceId{number, slot.generation};
}

bool SequencePages::exists(SequenceId id) const {
  return id.slot < slots_.size() && slots_[id.slot].used &&
         slots_[id.slot].generation == id.generation;
}

void SequencePages::erase(std::uint32_t number) {
  Slot& slot = slots_[number];
  for_each_held(number, 0, pages_for(slot.length),
                [&](std::size_t p) { pool_.drop(entry(number, p)); });
  slot.used = false;
  ++slot.generation;
  free_slots_.push_back(number);
}

// ---- Pages ----

std::size_t SequencePages::first_seen(std::size_t length) const {
  if (!sizes_.window) {
    return 0;
  }
  const auto left = static_cast<std::size_t>(sizes_.window->left);
  return length > left ? length - left : 0;
}

std::size_t SequencePages::next_released(const Slot& slot) const {
  return std::max(slot.released, first_seen(slot.length) / sizes_.page_size);
}

std::size_t SequencePages::place_of(std::uint32_t slot,
                                    std::size_t page) const {
  const std::size_t all = sizes_.pages_of_a_region;
  return slot * all +
         (page < std::min(kept_pages_, all)
              ? page
              : kept_pages_ + (page - kept_pages_) % (all - kept_pages_));
}

template <class Visit>
void SequencePages::for_each_held(std::uint32_t slot, std::size_t from,
                                  std::size_t to, const Visit& visit) const {
  for (std::size_t page = from; page < std::min(kept_pages_, to); ++page) {
    visit(page);
  }
  for (std::size_t page = std::max(from, slots_[slot].released); page < to;
       ++page) {
    visit(page);
  }
}

// ---- Growing ----

SequencePages::Room SequencePages::room_for(std::span<const Growth> all) {
  if (sizes_.regions == 1) {
    return room_in(0, all);
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Room room = room_in(all[n].slot, all.subspan(n, 1));
    if (!room.enough) {
      return room;
    }
  }
  return {true, 0, 0};
}

SequencePages::Room SequencePages::room_in(std::size_t region,
                                           std::span<const Growth> all) {
  std::size_t given_back = 0;
  std::size_t needed = 0;
  for (const auto& [number, tokens] : all) {
    for_each_released(number, tokens, [&](PageNumber page) {
      given_back += ++leaving_[page] == pool_.holders(page) ? 1 : 0;
    });
  }
  for (const auto& [number, tokens] : all) {
    const std::size_t length = slots_[number].length;
    if (tokens != 0 && ends_within_a_page(number)) {
      const PageNumber page = page_of(number, length);
      // The last holder of a page writes to it, the others to copies.
      const bool copies = pool_.holders(page) - leaving_[page] > 1;
      leaving_[page] += copies ? 1 : 0;
      needed += copies ? 1 : 0;
    }
    needed += pages_for(length + tokens) - pages_for(length);
  }
  for (const auto& [number, tokens] : all) {
    for_each_released(number, tokens,
                      [&](PageNumber page) { leaving_[page] = 0; });
    if (ends_within_a_page(number)) {
      leaving_[page_of(number, slots_[number].length)] = 0;
    }
  }
  const std::size_t free = pool_.free_pages(region) + given_back;
  return {needed <= free, needed, free};
}

template <class Visit>
void SequencePages::for_each_released(std::uint32_t number, std::size_t tokens,
                                      const Visit& visit) const {
  const Slot& slot = slots_[number];
  for (std::size_t page = slot.released;
       tokens != 0 && page < next_released(slot); ++page) {
    visit(table_[place_of(number, page)]);
  }
}

void SequencePages::grow(std::span<const Growth> all, Fresh fresh, Copy copy) {
  for (const auto& [number, tokens] : all) {
    for_each_released(number, tokens,
                      [&](PageNumber page) { pool_.drop(page); });
    if (tokens != 0) {
      slots_[number].released = next_released(slots_[number]);
    }
  }
  for (const auto& [number, tokens] : all) {
    Slot& slot = slots_[number];
    const std::size_t region = region_of(number);
    if (tokens != 0 && ends_within_a_page(number)) {
      unshare_page(number, slot.length / sizes_.page_size, copy);
    }
    for (std::size_t page = pages_for(slot.length);
         page < pages_for(slot.length + tokens); ++page) {
      const PageNumber taken = pool_.take(region);
      fresh(taken);
      entry(number, page) = taken;
    }
    slot.length += tokens;
  }
}

// ---- Writing to tokens that are there ----

void SequencePages::unshare_page(std::uint32_t number, std::size_t page,
                                 Copy copy) {
  PageNumber& held = entry(number, page);
  if (pool_.holders(held) > 1) {
    const PageNumber own = pool_.take(region_of(number));
    copy(held, own);
    pool_.drop(held);
    held = own;
  }
}

std::size_t SequencePages::shared_pages(std::uint32_t number, std::size_t first,
                                        std::size_t end) const {
  std::size_t shared = 0;
  for_each_held(number, first / sizes_.page_size, pages_for(end),
                [&](std::size_t page) {
                  const PageNumber held = table_[place_of(number, page)];
                  shared += pool_.holders(held) > 1 ? 1 : 0;
                });
  return shared;
}

void SequencePages::unshare(std::uint32_t number, std::size_t first,
                            std::size_t end, Copy copy) {
  for_each_held(number, first / sizes_.page_size, pages_for(end),
                [&](std::size_t page) { unshare_page(number, page, copy); });
}

// ---- Going back ----

SequencePages::Lengths SequencePages::truncated_lengths(
    std::uint32_t number) const {
  const Slot& slot = slots_[number];
  if (slot.released == kept_pages_) {
    return {slot.length, 0};
  }
  return {kept_pages_ * sizes_.page_size,
          slot.released * sizes_.page_size +
              static_cast<std::size_t>(sizes_.window->left)};
}

void SequencePages::truncate(std::uint32_t number, std::size_t length) {
  Slot& slot = slots_[number];
  for_each_held(number, pages_for(length), pages_for(slot.length),
                [&](std::size_t page) { pool_.drop(entry(number, page)); });
  slot.length = length;
  if (length <= kept_pages_ * sizes_.page_size) {
    slot.released = kept_pages_;
  }
}

std::optional<SequenceId> SequencePages::fork(std::uint32_t number, Copy copy) {
  const auto id = add();
  if (!id) {
    return std::nullopt;
  }
  Slot& child = slots_[id->slot];
  child.length = slots_[number].length;
  child.released = slots_[number].released;
  for_each_held(number, 0, pages_for(child.length), [&](std::size_t page) {
    const PageNumber held = entry(number, page);
    PageNumber& own = entry(id->slot, page);
    if (sizes_.regions == 1) {
      own = held;
      pool_.share(held);
    } else {
      own = pool_.take(region_of(id->slot));
      copy(held, own);
    }
  });
  return id;
}

}  // namespace headwise::inline HEADWISE_ABI
