#include "decode/page_pool.h"

#include <algorithm>
#include <bit>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kWord = 64;

}  // namespace

PagePool::PagePool(std::size_t regions, std::size_t pages_of_a_region)
    : pages_of_a_region_(pages_of_a_region),
      words_of_a_region_((pages_of_a_region + kWord - 1) / kWord),
      regions_(regions, {pages_of_a_region, 0}),
      free_(regions * words_of_a_region_, ~std::uint64_t{0}),
      holders_(regions * pages_of_a_region, 0) {
  // Bits beyond the pages of a region are never free.
  const std::size_t last = pages_of_a_region % kWord;
  for (std::size_t r = 0; last != 0 && r < regions; ++r) {
    free_[(r + 1) * words_of_a_region_ - 1] = (std::uint64_t{1} << last) - 1;
  }
}

std::size_t PagePool::free_pages() const {
  std::size_t sum = 0;
  for (const Region& region : regions_) {
    sum += region.free;
  }
  return sum;
}

PageNumber PagePool::take(std::size_t region) {
  Region& from = regions_[region];
  std::uint64_t* const words = free_.data() + region * words_of_a_region_;
  while (words[from.first_word] == 0) {
    ++from.first_word;
  }
  std::uint64_t& word = words[from.first_word];
  const auto bit = static_cast<std::size_t>(std::countr_zero(word));
  word &= word - 1;
  --from.free;
  const std::size_t page =
      region * pages_of_a_region_ + from.first_word * kWord + bit;
  holders_[page] = 1;
  return static_cast<PageNumber>(page);
}

void PagePool::drop(PageNumber page) {
  if (--holders_[page] != 0) {
    return;
  }
  const std::size_t in_region = page % pages_of_a_region_;
  const std::size_t number = page / pages_of_a_region_;
  Region& region = regions_[number];
  free_[number * words_of_a_region_ + in_region / kWord] |=
      std::uint64_t{1} << (in_region % kWord);
  region.first_word = std::min(region.first_word, in_region / kWord);
  ++region.free;
}

}  // namespace headwise::inline HEADWISE_ABI
