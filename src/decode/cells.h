// The stored keys and values of a cache: a cell for each page and key head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "decode/cell_layout.h"
#include "decode/page_pool.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

class Cells {
 public:
  // In a contiguous cache the pages of a region follow one another for each
  // head, otherwise the heads of a page.
  static Result<Cells> create(const KvCacheOptions& options,
                              const PagePool& pool, std::size_t page_size,
                              bool heads_outside);

  const CellLayout& layout() const { return layout_; }
  std::size_t heads() const { return heads_; }
  std::size_t bytes() const { return memory_.size(); }

  // Stores the tokens of `rows` from place `first` of the page on: keys
  // (count, D) and values (count, Dv) of one head.
  void store(PageNumber page, std::size_t head, std::size_t first,
             const kernels::NumberRows<const void>& keys,
             const kernels::NumberRows<const void>& values);
  // Loads the tokens [first, first + count) as rows of D and of Dv; null: not
  // wanted.
  void load(PageNumber page, std::size_t head, std::size_t first,
            std::size_t count, float* keys, float* values) const;
  // A panel of keys, keys where they are rows, and values, from a token of the
  // page on.
  kernels::KeyPanel panel(PageNumber page, std::size_t head,
                          std::size_t number) const;
  kernels::ValueRows key_rows(PageNumber page, std::size_t head,
                              std::size_t first, std::size_t count) const;
  kernels::ValueRows values(PageNumber page, std::size_t head,
                            std::size_t first, std::size_t count) const;
  // Whether a value of the cell may be NaN or infinite.
  bool not_finite(PageNumber page, std::size_t head) const {
    return not_finite_[page * heads_ + head] != 0;
  }

  // A page that holds nothing yet.
  void clear(PageNumber page);
  void copy(PageNumber from, PageNumber to);
  // Tokens of one page, of all heads.
  struct Tokens {
    PageNumber page;
    std::size_t first;
  };
  // Copies `count` tokens as they are stored. Within a page, tokens may move to
  // lower places.
  void move(Tokens from, Tokens to, std::size_t count);

 private:
  Cells(const CellLayout& layout, std::size_t heads, std::size_t pages,
        std::size_t pages_of_a_head, Tensor<std::byte, 1> memory);

  // The keys of two cells, feature by feature.
  void move_in_panels(const std::byte* from, std::size_t from_first,
                      std::byte* to, std::size_t to_first,
                      std::size_t count) const;

  const std::byte* cell(PageNumber page, std::size_t head) const;
  std::byte* cell(PageNumber page, std::size_t head) {
    return const_cast<std::byte*>(std::as_const(*this).cell(page, head));
  }

  CellLayout layout_;
  std::size_t heads_;
  std::size_t pages_of_a_head_;  // that follow one another; 1: of all heads
  Tensor<std::byte, 1> memory_;
  std::vector<std::uint8_t> not_finite_;  // (pages, heads)
};

}  // namespace headwise::inline HEADWISE_ABI
