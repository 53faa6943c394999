// Rows of keys and values in one piece of memory, as they travel: all rows of
// the keys, then all rows of the values.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "distribute/copy_rows.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// (1, rows, Hkv, D) and (1, rows, Hkv, Dv).
template <class T>
struct KeyViews {
  TensorView<T, 4> key;
  TensorView<T, 4> value;

  KeyViews part(const internal::PartRange& rows) const {
    return {internal::part_along(1, key, rows),
            internal::part_along(1, value, rows)};
  }
};

// Without a row; `memory` is not read.
template <class T>
KeyViews<const T> no_keys(const AttentionShape& shape, const T* memory) {
  return {{memory, {1, 0, shape.Hkv, shape.D}},
          {memory, {1, 0, shape.Hkv, shape.Dv}}};
}

template <class T>
void copy_keys(const KeyViews<const T>& from, const KeyViews<T>& to) {
  copy_rows<T>(from.key, to.key);
  copy_rows<T>(from.value, to.value);
}

template <class T>
class KeyRows {
 public:
  // In the memory of `old` if that is large enough.
  static Result<KeyRows> create(const AttentionShape& shape,
                                std::size_t most_rows,
                                Tensor<std::byte, 2> old = {}) {
    auto memory = Tensor<std::byte, 2>::create_unset_in(
        std::move(old), {most_rows, bytes_of_row(shape)});
    HEADWISE_TRY(memory);
    KeyRows rows;
    rows.heads_ = shape.Hkv;
    rows.D_ = shape.D;
    rows.Dv_ = shape.Dv;
    rows.memory_ = *std::move(memory);
    return rows;
  }
  static std::size_t bytes_of_row(const AttentionShape& shape) {
    return shape.Hkv * (shape.D + shape.Dv) * sizeof(T);
  }

  KeyViews<T> views(std::size_t rows) {
    auto* const key = reinterpret_cast<T*>(memory_.data());
    return {{key, {1, rows, heads_, D_}},
            {key + rows * heads_ * D_, {1, rows, heads_, Dv_}}};
  }
  std::span<std::byte> bytes(std::size_t rows) {
    return std::span(memory_.data(), rows * memory_.extent(1));
  }
  Tensor<std::byte, 2> release() { return std::move(memory_); }

 private:
  std::size_t heads_ = 0;
  std::size_t D_ = 0;
  std::size_t Dv_ = 0;
  Tensor<std::byte, 2> memory_;
};

template <class T>
KeyViews<const T> read_only(const KeyViews<T>& views) {
  return {views.key, views.value};
}

}  // namespace headwise::inline HEADWISE_ABI
