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
class KeyRows : public RankRows {
 public:
  // In the memory of `old` if that is large enough.
  static Result<KeyRows> create(const AttentionShape& shape,
                                std::size_t most_rows,
                                Tensor<std::byte, 2> old = {}) {
    KeyRows rows;
    HEADWISE_TRY(rows.make(shape, shape.Hkv, {most_rows, bytes_of_row(shape)},
                           std::move(old)));
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
};

template <class T>
KeyViews<const T> read_only(const KeyViews<T>& views) {
  return {views.key, views.value};
}

}  // namespace headwise::inline HEADWISE_ABI
