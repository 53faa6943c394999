#include "kernels/row_tile.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                   // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/fold-inl.h"
#include "kernels/half-inl.h"
#include "kernels/mask_word-inl.h"
#include "kernels/stored_rows.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());

template <class T>
HWY_INLINE void pack_rows(const Rows<const T>& rows, std::size_t columns,
                          float factor, float* HWY_RESTRICT to) {
  const Lane d;
  for (std::size_t n = 0; n < rows.count; ++n, to += whole_lines(columns)) {
    const T* row = rows.row(n);
    std::size_t c = 0;
    for (; rows.stride == 1 && c + kLanes <= columns; c += kLanes) {
      hn::Store(hn::Mul(load_widened(d, row + c), hn::Set(d, factor)), d,
                to + c);
    }
    for (; c < columns; ++c) {
      to[c] = headwise::widened(rows.at(n, c)) * factor;
    }
  }
}

// Brings rows into the caches, one after another: memory is fastest in
// sequence. What was read goes to `unused`, or the compiler would leave it out.
template <class T>
HWY_INLINE void touch_rows(const Rows<const T>& rows, std::size_t columns,
                           float* unused) {
  const Lane d;
  constexpr std::size_t kLine = 64 / sizeof(T);
  Vector all = hn::Zero(d);
  for (std::size_t n = 0; rows.stride == 1 && n < rows.count; ++n) {
    const T* row = rows.row(n);
    for (std::size_t c = 0; c + kLanes <= columns; c += kLine) {
      all = hn::Or(all, load_widened(d, row + c));
    }
  }
  hn::Store(all, d, unused);
}

// Asks for rows that are read soon, line by line and one row after another.
template <class T>
class ReadAhead {
 public:
  // The rows [first, end); those that are not side by side are left out.
  ReadAhead(const Rows<const T>& rows, std::size_t columns, std::size_t first,
            std::size_t end)
      : rows_(rows),
        columns_(columns),
        row_(first),
        end_(rows.stride == 1 ? end : first) {}

  HWY_INLINE void ask(std::size_t lines) {
    for (; lines != 0 && row_ < end_; --lines) {
      // Into the second-level cache: the first has no room for them.
      __builtin_prefetch(rows_.row(row_) + column_, 0, 2);
      column_ += kLine;
      if (column_ >= columns_) {
        column_ = 0;
        ++row_;
      }
    }
  }

 private:
  static constexpr std::size_t kLine = 64 / sizeof(T);

  Rows<const T> rows_;
  std::size_t columns_;
  std::size_t row_;
  std::size_t end_;
  std::size_t column_ = 0;
};

// The keys [first, first + kLanes), the last one repeated beyond the rest. As
// many of those that follow are asked for meanwhile.
template <class T>
HWY_INLINE void pack_vector(const Rows<const T>& keys, std::size_t first,
                            std::size_t D, ReadAhead<T> next,
                            float* HWY_RESTRICT panel) {
  const Lane d;
  const std::size_t width = panel_width(keys.count);
  const T* row[kLanes];
  for (std::size_t n = 0; n < kLanes; ++n) {
    row[n] = keys.row(std::min(first + n, keys.count - 1));
  }
  std::size_t i = 0;
  if constexpr (kHasSquares) {
    for (; keys.stride == 1 && i + kSquare <= D; i += kSquare) {
      next.ask(kLanes * kSquare * sizeof(T) / 64);
      Vector v[kSquare];
      for (std::size_t r = 0; r < kSquare; ++r) {
        v[r] = load_squares(d, row + r, i);
      }
      transpose_squares(d, v);
      for (std::size_t c = 0; c < kSquare; ++c) {
        hn::Store(v[c], d, panel + (i + c) * width + first);
      }
    }
  }
  for (; i < D; ++i) {
    for (std::size_t n = 0; n < kLanes; ++n) {
      panel[i * width + first + n] = headwise::widened(
          row[n][static_cast<std::ptrdiff_t>(i) * keys.stride]);
    }
  }
}

template <class T>
HWY_INLINE void pack_panel(const Rows<const T>& keys, std::size_t following,
                           std::size_t D, float* HWY_RESTRICT panel) {
  touch_rows(keys, D, panel);
  const std::size_t all = keys.count + following;
  for (std::size_t first = 0; first < keys.count; first += kLanes) {
    const std::size_t next = keys.count + first;
    pack_vector(keys, first, D, {keys, D, next, std::min(next + kLanes, all)},
                panel);
  }
}

void softmax(std::size_t rows, std::size_t count, const KeyWords* allowed,
             float* HWY_RESTRICT scores, float* HWY_RESTRICT max) {
  const Lane d;
  const Vector minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::size_t r = 0; r < rows; ++r, scores += kKeyBlock) {
    Vector top = minus_inf;
    for (std::size_t k = 0; k < count; k += kLanes) {
      Vector s = hn::Load(d, scores + k);
      if (allowed != nullptr) {
        s = hn::IfThenElse(mask_of(d, allowed[r][k / 64], k % 64), s,
                           minus_inf);
      }
      if (k + kLanes > count) {
        s = hn::IfThenElse(hn::FirstN(d, count - k), s, minus_inf);
      }
      top = hn::Max(top, s);
      hn::Store(s, d, scores + k);
    }
    top = hn::MaxOfLanes(d, top);
    max[r] = hn::GetLane(top);
    // A row without an allowed key: (-inf) - (-inf) would be NaN.
    const Vector shift = hn::IfThenZeroElse(hn::Eq(top, minus_inf), top);
    for (std::size_t k = 0; k < count; k += kLanes) {
      hn::Store(exp2(d, hn::Sub(hn::Load(d, scores + k), shift)), d,
                scores + k);
    }
  }
}

// One row: its context so far, folded with a block's.
HWY_INLINE void fold_row(std::size_t size, bool state_empty, float state_factor,
                         float block_factor, const float* HWY_RESTRICT block,
                         float* HWY_RESTRICT context) {
  const Lane d;
  if (state_empty) {
    std::copy_n(block, size, context);
    return;
  }
  const Vector a = hn::Set(d, state_factor);
  const Vector b = hn::Set(d, block_factor);
  for (std::size_t c = 0; c < size; c += kLanes) {
    hn::Store(hn::MulAdd(hn::Load(d, block + c), b,
                         hn::Mul(hn::Load(d, context + c), a)),
              d, context + c);
  }
}

void fold(std::size_t rows, std::size_t Dv, const Fold& fold,
          const float* block, float* context) {
  const Lane d;
  const std::size_t size = whole_lines(Dv);
  for (std::size_t first = 0; first < rows; first += kLanes) {
    const FoldOf<Lane> by = fold_of(d, fold, first);
    alignas(64) float a[kLanes];
    alignas(64) float b[kLanes];
    hn::Store(by.state_factor, d, a);
    hn::Store(by.block_factor, d, b);
    for (std::size_t n = 0; n < std::min(kLanes, rows - first); ++n) {
      const std::size_t r = first + n;
      if (fold.block_sum[r] != 0) {
        fold_row(size, fold.state.sum[r] == 0, a[n], b[n], block + r * size,
                 context + r * size);
      }
    }
    const Vector top = folded_max(d, by, fold, first);
    hn::Store(folded(by, hn::Load(d, fold.state.sum + first),
                     hn::Load(d, fold.block_sum + first)),
              d, fold.state.sum + first);
    hn::Store(top, d, fold.state.max + first);
  }
}

template <class T>
HWY_INLINE void store(const float* context, const float* sum, std::size_t Dv,
                      const Rows<T>& output) {
  const Lane d;
  const Vector nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t r = 0; r < output.count; ++r, context += whole_lines(Dv)) {
    const Vector by = hn::Set(d, sum[r]);
    for (std::size_t c = 0; c < Dv; c += kLanes) {
      const Vector x = hn::Div(hn::Load(d, context + c), by);
      const Vector y = hn::IfThenElse(hn::IsNaN(x), nan, x);
      if (output.stride == 1 && c + kLanes <= Dv) {
        store_narrowed(y, d, output.row(r) + c);
        continue;
      }
      alignas(64) float vector[kLanes];
      hn::Store(y, d, vector);
      for (std::size_t n = 0; n < std::min(kLanes, Dv - c); ++n) {
        output.at(r, c + n) = narrowed<T>(vector[n]);
      }
    }
  }
}

const RowTile* tile() {
  static constexpr RowTile kTile = {
      [](const NumberRows<const void>& rows, std::size_t columns, float factor,
         float* to) {
        rows.visit([=](const auto& of)
                       HWY_ATTR { pack_rows(of, columns, factor, to); });
      },
      [](const NumberRows<const void>& keys, std::size_t following,
         std::size_t D, float* panel) {
        keys.visit([=](const auto& of)
                       HWY_ATTR { pack_panel(of, following, D, panel); });
      },
      softmax, fold,
      [](const float* context, const float* sum, std::size_t Dv,
         const NumberRows<void>& output) {
        output.visit([=](const auto& to)
                         HWY_ATTR { store(context, sum, Dv, to); });
      }};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const RowTile& row_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
