// The sequences of a cache: their lengths and the pages they hold, without any
// data. Nothing is allocated after the constructor, and nothing here fails:
// callers ask first (exists, room_for, truncated_lengths).
//
// Page p of a sequence holds its tokens [p * page_size, (p + 1) * page_size).
// Under a rolling window the pages between the first ones and `released` are
// given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "decode/page_pool.h"
#include "headwise/base/function_ref.h"
#include "headwise/decode/kv_cache.h"

namespace headwise::inline HEADWISE_ABI {

// Tokens that a sequence gets.
struct Growth {
  std::uint32_t slot;
  std::size_t tokens;
};

class SequencePages {
 public:
  struct Sizes {
    std::size_t page_size;
    std::size_t sequences;
    std::size_t regions;  // 1, or one per sequence in a contiguous cache
    std::size_t pages_of_a_region;
    std::optional<RollingWindow> window;
  };
  using Fresh = FunctionRef<void(PageNumber page)>;
  using Copy = FunctionRef<void(PageNumber from, PageNumber to)>;

  explicit SequencePages(const Sizes& sizes);

  const PagePool& pool() const { return pool_; }
  std::size_t page_size() const { return sizes_.page_size; }
  // The most tokens that a sequence has room for. A rolling window, which gives
  // pages back, has no such number: the largest there is.
  std::size_t most_tokens() const {
    return sizes_.window ? std::numeric_limits<std::size_t>::max()
                         : sizes_.pages_of_a_region * sizes_.page_size;
  }
  std::size_t count() const { return sizes_.sequences - free_slots_.size(); }

  // ---- Sequences ----

  // No sequence: there are as many as can be.
  std::optional<SequenceId> add();
  bool exists(SequenceId id) const;
  void erase(std::uint32_t slot);
  std::size_t length(std::uint32_t slot) const { return slots_[slot].length; }
  // Whether the cache has the page of a token below the length.
  bool holds(std::uint32_t slot, std::size_t token) const {
    return is_held(slots_[slot], token / sizes_.page_size);
  }
  PageNumber page_of(std::uint32_t slot, std::size_t token) const {
    return table_[place_of(slot, token / sizes_.page_size)];
  }
  // The place in the tables of a page of a sequence, by its number in it: no
  // two held pages of any sequences have the same, below places().
  std::size_t place_of(std::uint32_t slot, std::size_t page) const;
  std::size_t places() const { return table_.size(); }

  // ---- Growing ----

  // Whether there are pages for all of it; each slot at most once. Where not,
  // `needed` pages and those that are `free` for them.
  struct Room {
    bool enough;
    std::size_t needed;
    std::size_t free;
  };
  Room room_for(std::span<const Growth> all);
  // Gives back what no query can see any more, then makes room for the new
  // tokens. `fresh` gets each page that is new, `copy` each page that a
  // sequence shared and now has a copy of.
  void grow(std::span<const Growth> all, Fresh fresh, Copy copy);

  // ---- Going back ----

  // The lengths to which truncate() may go are [0, kept] and [first, length].
  struct Lengths {
    std::size_t kept;
    std::size_t first;
    bool allow(std::size_t length) const {
      return length <= kept || length >= first;
    }
  };
  Lengths truncated_lengths(std::uint32_t slot) const;
  void truncate(std::uint32_t slot, std::size_t length);
  // Another sequence with the same tokens; `copy` copies each page in a
  // contiguous cache. No sequence: there are as many as can be.
  std::optional<SequenceId> fork(std::uint32_t slot, Copy copy);

  // ---- Writing to tokens that are there ----

  // How many pages of the tokens [first, end) other sequences share.
  std::size_t shared_pages(std::uint32_t slot, std::size_t first,
                           std::size_t end) const;
  // Replaces them by pages of the sequence's own, for which there must be room.
  void unshare(std::uint32_t slot, std::size_t first, std::size_t end,
               Copy copy);

 private:
  struct Slot {
    std::uint32_t generation = 0;
    bool used = false;
    std::size_t length = 0;
    std::size_t released = 0;  // no page from kept_pages_ to here is held
  };

  std::size_t pages_for(std::size_t tokens) const {
    return (tokens + sizes_.page_size - 1) / sizes_.page_size;
  }
  std::size_t region_of(std::uint32_t slot) const {
    return sizes_.regions == 1 ? 0 : slot;
  }
  bool is_held(const Slot& slot, std::size_t page) const {
    return page < kept_pages_ || page >= slot.released;
  }
  // The first token that a query at the end of `length` tokens sees, apart from
  // the first ones.
  std::size_t first_seen(std::size_t length) const;
  // Where the pages that are given back end, once the sequence grows.
  std::size_t next_released(const Slot& slot) const;
  // Takes a page in place of one that is shared.
  void unshare_page(std::uint32_t slot, std::size_t page, Copy copy);
  bool ends_within_a_page(std::uint32_t slot) const {
    return slots_[slot].length % sizes_.page_size != 0;
  }
  Room room_in(std::size_t region, std::span<const Growth> all);
  // visit(page) for the held pages [from, to) of a sequence, by their place in
  // it.
  template <class Visit>
  void for_each_held(std::uint32_t slot, std::size_t from, std::size_t to,
                     const Visit& visit) const;
  // visit(page) for those that growing gives back, by their number.
  template <class Visit>
  void for_each_released(std::uint32_t slot, std::size_t tokens,
                         const Visit& visit) const;
  PageNumber& entry(std::uint32_t slot, std::size_t page) {
    return table_[place_of(slot, page)];
  }

  Sizes sizes_;
  std::size_t kept_pages_;  // at the start; they are never given back
  PagePool pool_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;  // the next one last
  // (sequences, pages of a region): the first pages, then a ring of the others.
  std::vector<PageNumber> table_;
  // While room_for() counts: how many holders of a page the call takes away.
  std::vector<std::uint32_t> leaving_;
};

}  // namespace headwise::inline HEADWISE_ABI
