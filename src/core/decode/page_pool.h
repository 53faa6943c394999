// Which pages are free and how many sequences hold each of the others. Pages
// are numbered through all regions; a page is taken from one region. The lowest
// free page is taken first, so that a sequence that grows alone gets pages that
// follow one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

using PageNumber = std::uint32_t;

class PagePool {
 public:
  // Takes all its memory here.
  PagePool(std::size_t regions, std::size_t pages_of_a_region);

  std::size_t pages() const { return holders_.size(); }
  std::size_t pages_of_a_region() const { return pages_of_a_region_; }
  std::size_t free_pages() const;
  std::size_t free_pages(std::size_t region) const {
    return regions_[region].free;
  }

  // The region must have a free page. The page has one holder.
  PageNumber take(std::size_t region);
  // One holder more.
  void share(PageNumber page) { ++holders_[page]; }
  // One holder less; without any the page is free.
  void drop(PageNumber page);
  std::uint32_t holders(PageNumber page) const { return holders_[page]; }

 private:
  struct Region {
    std::size_t free;
    std::size_t first_word;  // no word before it has a free page
  };

  std::size_t pages_of_a_region_;
  std::size_t words_of_a_region_;
  std::vector<Region> regions_;
  std::vector<std::uint64_t>
      free_;  // a bit per page, each region from a word on
  std::vector<std::uint32_t> holders_;
};

}  // namespace headwise::inline HEADWISE_ABI
