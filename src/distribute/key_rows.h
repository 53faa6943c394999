// Rows of keys and values in one piece of memory, as they travel: all rows of
// the keys, then all rows of the values.
#pragma once

#include <cstddef>
#include <span>

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
  static Result<KeyRows> create(const AttentionShape& shape,
                                std::size_t most_rows) {
    auto memory =
        Tensor<T, 3>::create_unset({most_rows, shape.Hkv, shape.D + shape.Dv});
    HEADWISE_TRY(memory);
    KeyRows rows;
    rows.heads_ = shape.Hkv;
    rows.D_ = shape.D;
    rows.Dv_ = shape.Dv;
    rows.memory_ = *std::move(memory);
    return rows;
  }

  KeyViews<T> views(std::size_t rows) {
    return {{memory_.data(), {1, rows, heads_, D_}},
            {memory_.data() + rows * heads_ * D_, {1, rows, heads_, Dv_}}};
  }
  std::span<std::byte> bytes(std::size_t rows) {
    return writable_bytes_of(memory_.data(), rows * heads_ * (D_ + Dv_));
  }

 private:
  std::size_t heads_ = 0;
  std::size_t D_ = 0;
  std::size_t Dv_ = 0;
  Tensor<T, 3> memory_;
};

template <class T>
KeyViews<const T> read_only(const KeyViews<T>& views) {
  return {views.key, views.value};
}

}  // namespace headwise::inline HEADWISE_ABI
