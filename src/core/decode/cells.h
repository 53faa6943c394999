// The stored keys and values of a cache: a cell for each page and key head.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "decode/page_pool.h"
#include "headwise/base/tensor.h"
#include "headwise/decode/kv_cache.h"
#include "kernels/stored_rows.h"

namespace headwise::inline HEADWISE_ABI {

// Where the numbers of a cell are: the keys and values of one page and one key
// head, in the form that the kernels read (kernels/stored_rows.h).
//
//   keys     panels (D, panel_width) of the page's tokens
//   values   rows of Dv numbers
//   scales   int8 only: of the keys, then of the values, one float per token
//
// If values are the keys' first features, there are only keys, as rows of D
// numbers. Every part begins on a 64-byte boundary.
struct CellLayout {
  // The sizes are those of a cache that was created: they do not overflow.
  explicit CellLayout(const KvCacheOptions& options, std::size_t tokens)
      : type(kernels::stored_type(options.dtype)),
        D(options.head_dim),
        Dv(options.v_head_dim),
        page_size(tokens),
        panel_width(std::min(tokens, kernels::kPanelKeys)),
        keys_as_rows(options.value_is_key_prefix) {
    const std::size_t number = kernels::size_of(type);
    panel_bytes = whole_lines(panel_width * D * number);
    const std::size_t keys = keys_as_rows
                                 ? whole_lines(page_size * D * number)
                                 : page_size / panel_width * panel_bytes;
    values = keys;
    key_scales =
        values + (keys_as_rows ? 0 : whole_lines(page_size * Dv * number));
    const std::size_t scales = type == kernels::StoredType::int8
                                   ? whole_lines(page_size * sizeof(float))
                                   : 0;
    value_scales = key_scales + scales;
    bytes = value_scales + (keys_as_rows ? 0 : scales);
  }

  static constexpr std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    return (bytes + kLine - 1) / kLine * kLine;
  }

  kernels::StoredType type;
  std::size_t D;
  std::size_t Dv;
  std::size_t page_size;
  std::size_t panel_width;
  bool keys_as_rows;
  std::size_t panel_bytes;
  // Where the parts begin in a cell.
  std::size_t values;
  std::size_t key_scales;
  std::size_t value_scales;
  std::size_t bytes;  // of a cell
};

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
