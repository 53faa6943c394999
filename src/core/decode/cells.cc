#include "decode/cells.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "headwise/base/checked_product.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::NumberRows;

Result<Cells> Cells::create(const KvCacheOptions& options, const PagePool& pool,
                            std::size_t page_size, bool heads_outside) {
  const CellLayout layout(options, page_size);
  const std::size_t heads = options.num_kv_heads;
  const auto bytes = checked_product(
      std::array<std::size_t, 3>{layout.bytes, heads, pool.pages()});
  if (!bytes) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  HEADWISE_ASSIGN(auto memory, Tensor<std::byte, 1>::create_unset({*bytes}));
  prefer_large_pages(memory.data(), *bytes);
  return Cells(layout, heads, pool.pages(),
               heads_outside ? pool.pages_of_a_region() : 1, std::move(memory));
}

Cells::Cells(const CellLayout& layout, std::size_t heads, std::size_t pages,
             std::size_t pages_of_a_head, Tensor<std::byte, 1> memory)
    : layout_(layout),
      heads_(heads),
      pages_of_a_head_(pages_of_a_head),
      memory_(std::move(memory)),
      not_finite_(pages * heads, 0) {}

const std::byte* Cells::cell(PageNumber page, std::size_t head) const {
  const std::size_t group = page / pages_of_a_head_;
  const std::size_t number =
      (group * heads_ + head) * pages_of_a_head_ + page % pages_of_a_head_;
  return memory_.data() + number * layout_.bytes;
}

// ---- Storing ----

void Cells::store(PageNumber page, std::size_t head, std::size_t first,
                  const NumberRows<const void>& keys,
                  const NumberRows<const void>& values) {
  std::byte* const at = cell(page, head);
  const std::size_t number = kernels::size_of(layout_.type);
  auto* const key_scales = reinterpret_cast<float*>(at + layout_.key_scales);
  bool finite = true;
  if (layout_.keys_as_rows) {
    // A number that is not finite may be among the features of values.
    finite = kernels::store_values(keys, layout_.D, layout_.type,
                                   at + first * layout_.D * number,
                                   key_scales + first);
  } else {
    const std::size_t width = layout_.panel_width;
    for (std::size_t n = 0; n < keys.count;) {
      const std::size_t panel = (first + n) / width;
      const std::size_t place = (first + n) % width;
      const std::size_t count = std::min(keys.count - n, width - place);
      kernels::store_keys(keys.part(n, count), layout_.D, layout_.type, width,
                          place, at + panel * layout_.panel_bytes,
                          key_scales + panel * width);
      n += count;
    }
    finite = kernels::store_values(
        values, layout_.Dv, layout_.type,
        at + layout_.values + first * layout_.Dv * number,
        reinterpret_cast<float*>(at + layout_.value_scales) + first);
  }
  if (!finite) {
    not_finite_[page * heads_ + head] = 1;
  }
}

void Cells::clear(PageNumber page) {
  std::fill_n(not_finite_.begin() + static_cast<std::ptrdiff_t>(page * heads_),
              heads_, std::uint8_t{0});
}

void Cells::copy(PageNumber from, PageNumber to) {
  for (std::size_t head = 0; head < heads_; ++head) {
    std::memcpy(cell(to, head), cell(from, head), layout_.bytes);
    not_finite_[to * heads_ + head] = not_finite_[from * heads_ + head];
  }
}

// ---- Moving ----

void Cells::move_in_panels(const std::byte* from, std::size_t from_first,
                           std::byte* to, std::size_t to_first,
                           std::size_t count) const {
  const std::size_t width = layout_.panel_width;
  const std::size_t number = kernels::size_of(layout_.type);
  for (std::size_t n = 0; n < count;) {
    const std::size_t source = (from_first + n) % width;
    const std::size_t target = (to_first + n) % width;
    const std::size_t some =
        std::min({count - n, width - source, width - target});
    const std::byte* const from_panel =
        from + (from_first + n) / width * layout_.panel_bytes;
    std::byte* const to_panel =
        to + (to_first + n) / width * layout_.panel_bytes;
    for (std::size_t d = 0; d < layout_.D; ++d) {
      std::memmove(to_panel + (d * width + target) * number,
                   from_panel + (d * width + source) * number, some * number);
    }
    n += some;
  }
}

void Cells::move(Tokens from, Tokens to, std::size_t count) {
  const std::size_t number = kernels::size_of(layout_.type);
  for (std::size_t head = 0; head < heads_; ++head) {
    const std::byte* const source = cell(from.page, head);
    std::byte* const target = cell(to.page, head);
    const auto move_rows = [&](std::size_t part, std::size_t bytes) {
      std::memmove(target + part + to.first * bytes,
                   source + part + from.first * bytes, count * bytes);
    };
    if (layout_.keys_as_rows) {
      move_rows(0, layout_.D * number);
    } else {
      move_in_panels(source, from.first, target, to.first, count);
      move_rows(layout_.values, layout_.Dv * number);
    }
    if (layout_.type == kernels::StoredType::int8) {
      move_rows(layout_.key_scales, sizeof(float));
    }
    if (layout_.type == kernels::StoredType::int8 && !layout_.keys_as_rows) {
      move_rows(layout_.value_scales, sizeof(float));
    }
    not_finite_[to.page * heads_ + head] |=
        not_finite_[from.page * heads_ + head];
  }
}

// ---- Loading ----

void Cells::load(PageNumber page, std::size_t head, std::size_t first,
                 std::size_t count, float* keys, float* values) const {
  if (keys != nullptr && layout_.keys_as_rows) {
    const kernels::ValueRows rows = key_rows(page, head, first, count);
    kernels::load_values(rows, layout_.D, layout_.type, keys);
  } else if (keys != nullptr) {
    const std::size_t width = layout_.panel_width;
    for (std::size_t n = 0; n < count;) {
      const std::size_t place = (first + n) % width;
      const std::size_t some = std::min(count - n, width - place);
      kernels::load_keys(panel(page, head, (first + n) / width), layout_.D,
                         layout_.type, place, some, keys + n * layout_.D);
      n += some;
    }
  }
  if (values != nullptr) {
    kernels::load_values(this->values(page, head, first, count), layout_.Dv,
                         layout_.type, values);
  }
}

kernels::KeyPanel Cells::panel(PageNumber page, std::size_t head,
                               std::size_t number) const {
  const std::byte* const at = cell(page, head);
  return {at + number * layout_.panel_bytes,
          reinterpret_cast<const float*>(at + layout_.key_scales) +
              number * layout_.panel_width,
          layout_.panel_width};
}

kernels::ValueRows Cells::key_rows(PageNumber page, std::size_t head,
                                   std::size_t first, std::size_t count) const {
  const std::byte* const at = cell(page, head);
  return {
      at + first * layout_.D * kernels::size_of(layout_.type),
      reinterpret_cast<const float*>(at + layout_.key_scales) + first,
      count,
      static_cast<std::ptrdiff_t>(layout_.D),
  };
}

kernels::ValueRows Cells::values(PageNumber page, std::size_t head,
                                 std::size_t first, std::size_t count) const {
  if (layout_.keys_as_rows) {
    return key_rows(page, head, first, count);
  }
  const std::byte* const at = cell(page, head);
  return {
      at + layout_.values + first * layout_.Dv * kernels::size_of(layout_.type),
      reinterpret_cast<const float*>(at + layout_.value_scales) + first,
      count,
      static_cast<std::ptrdiff_t>(layout_.Dv),
  };
}

}  // namespace headwise::inline HEADWISE_ABI
