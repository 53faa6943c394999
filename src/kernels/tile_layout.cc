#include "kernels/tile_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/tile_layout.cc"  // this file, from src/
#include <hwy/foreach_target.h>                      // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
// Columns that are turned round at a time: a 4 x 4 square in each 128 bits.
constexpr std::size_t kSquare = 4;
constexpr bool kHasSquares = kLanes >= kSquare;
// How many rows ahead of the copying the memory is asked for.
constexpr std::size_t kAhead = 8;

#if HWY_TARGET == HWY_SCALAR
// One lane is no square; declared for the code that is not reached.
template <class D, class RowPointers>
hn::Vec<D> load_rows(D d, const RowPointers& row, std::size_t first,
                     std::size_t column);
template <class D, class RowPointers>
void store_rows(D d, hn::Vec<D> v, const RowPointers& row, std::size_t first,
                std::size_t column);
template <class D>
void transpose_squares(D d, hn::Vec<D> (&v)[kSquare]);
#else
// Four columns of rows first, first + 4, ...: one row a block of 128 bits.
template <class D, class RowPointers>
HWY_INLINE hn::Vec<D> load_rows(D d, const RowPointers& row, std::size_t first,
                                std::size_t column) {
  if constexpr (hn::MaxLanes(D()) == kSquare) {
    return hn::LoadU(d, row[first] + column);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d,
                       load_rows(half, row, first + hn::MaxLanes(half), column),
                       load_rows(half, row, first, column));
  }
}

template <class D, class RowPointers>
HWY_INLINE void store_rows(D d, hn::Vec<D> v, const RowPointers& row,
                           std::size_t first, std::size_t column) {
  if constexpr (hn::MaxLanes(D()) == kSquare) {
    hn::StoreU(v, d, row[first] + column);
  } else {
    const hn::Half<D> half;
    store_rows(half, hn::LowerHalf(half, v), row, first, column);
    store_rows(half, hn::UpperHalf(half, v), row, first + hn::MaxLanes(half),
               column);
  }
}

// The 4 x 4 square in each 128 bits of four vectors, transposed.
template <class D>
HWY_INLINE void transpose_squares(D d, hn::Vec<D> (&v)[kSquare]) {
  const hn::Vec<D> even_low = hn::InterleaveLower(d, v[0], v[2]);
  const hn::Vec<D> even_high = hn::InterleaveUpper(d, v[0], v[2]);
  const hn::Vec<D> odd_low = hn::InterleaveLower(d, v[1], v[3]);
  const hn::Vec<D> odd_high = hn::InterleaveUpper(d, v[1], v[3]);
  v[0] = hn::InterleaveLower(d, even_low, odd_low);
  v[1] = hn::InterleaveUpper(d, even_low, odd_low);
  v[2] = hn::InterleaveLower(d, even_high, odd_high);
  v[3] = hn::InterleaveUpper(d, even_high, odd_high);
}

#endif  // HWY_TARGET == HWY_SCALAR

// The first columns, as many as go by squares.
HWY_INLINE std::size_t square_columns(std::size_t columns,
                                      std::ptrdiff_t stride) {
  return kHasSquares && stride == 1 ? columns / kSquare * kSquare : 0;
}

void pack_queries(const Rows<const float>& q, std::size_t D, float factor,
                  std::size_t lanes, float* HWY_RESTRICT q_t) {
  const Lane d;
  const std::size_t squares = square_columns(D, q.stride);
  const Vector times = hn::Set(d, factor);
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    std::array<const float*, kLanes> row;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      row[lane] = q.row(std::min(n + lane, q.count - 1));
    }
    std::size_t at = 0;
    if constexpr (kHasSquares) {
      for (; at < squares; at += kSquare) {
        Vector v[kSquare];
        for (std::size_t r = 0; r < kSquare; ++r) {
          v[r] = load_rows(d, row, r, at);
        }
        transpose_squares(d, v);
        for (std::size_t c = 0; c < kSquare; ++c) {
          hn::Store(hn::Mul(v[c], times), d, q_t + (at + c) * lanes + n);
        }
      }
    }
    for (; at < D; ++at) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        q_t[at * lanes + n + lane] =
            row[lane][static_cast<std::ptrdiff_t>(at) * q.stride] * factor;
      }
    }
  }
}

// Asks for a row's memory; `columns` elements side by side.
HWY_INLINE void prefetch_row(const float* row, std::size_t columns) {
  constexpr std::size_t kLine = 16;
  for (std::size_t c = 0; c < columns; c += kLine) {
    hwy::Prefetch(row + c);
  }
}

void pack_keys(const Rows<const float>& k, std::size_t D,
               float* HWY_RESTRICT keys) {
  for (std::size_t n = 0; n < k.count; ++n, keys += D) {
    if (k.stride == 1) {
      prefetch_row(k.row(std::min(n + kAhead, k.count - 1)), D);
      std::memcpy(keys, k.row(n), D * sizeof(float));
      continue;
    }
    for (std::size_t at = 0; at < D; ++at) {
      keys[at] = k.at(n, at);
    }
  }
}

bool pack_values(const Rows<const float>& v, std::size_t Dv,
                 float* HWY_RESTRICT values) {
  const hn::CappedTag<float, kValuePanel> d;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const std::size_t panel = v.count * kValuePanel;
  const std::size_t whole = v.stride == 1 ? Dv / kValuePanel : 0;
  const auto zero = hn::Zero(d);
  auto poison = zero;  // x * 0 is NaN for the x that are not finite
  float tail_poison = 0;
  for (std::size_t n = 0; n < v.count; ++n, values += kValuePanel) {
    float* to = values;
    const float* from = v.row(n);
    if (v.stride == 1) {
      prefetch_row(v.row(std::min(n + kAhead, v.count - 1)), Dv);
    }
    for (std::size_t p = 0; p < whole; ++p, to += panel, from += kValuePanel) {
      for (std::size_t c = 0; c < kValuePanel; c += kStep) {
        const auto x = hn::LoadU(d, from + c);
        poison = hn::MulAdd(x, zero, poison);
        hn::Store(x, d, to + c);
      }
    }
    for (std::size_t first = whole * kValuePanel; first < Dv;
         first += kValuePanel, to += panel) {
      for (std::size_t c = 0; c < kValuePanel; ++c) {
        to[c] = first + c < Dv ? v.at(n, first + c) : 0.0f;
        tail_poison += to[c] * 0.0f;
      }
    }
  }
  return hn::AllFalse(d, hn::IsNaN(poison)) && tail_poison == 0;
}

HWY_INLINE Vector one_nan(Vector x) {
  const Lane d;
  const Vector nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(x), nan, x);
}

// Gives the tile's columns back as rows. column(c, n) is the vector of column c
// for the queries from n on.
template <class Column>
HWY_INLINE void store_columns(std::size_t columns, std::size_t lanes,
                              const Rows<float>& rows, const Column& column) {
  const Lane d;
  const std::size_t squares = square_columns(columns, rows.stride);
  alignas(64) float vector[kLanes];
  for (std::size_t n = 0; n < lanes && n < rows.count; n += kLanes) {
    const std::size_t live = std::min(kLanes, rows.count - n);
    std::array<float*, kLanes> row;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      row[lane] = rows.row(n + std::min(lane, live - 1));
    }
    std::size_t at = 0;
    if constexpr (kHasSquares) {
      for (; at < squares; at += kSquare) {
        Vector v[kSquare];
        for (std::size_t c = 0; c < kSquare; ++c) {
          v[c] = column(at + c, n);
        }
        transpose_squares(d, v);
        for (std::size_t r = 0; r < kSquare; ++r) {
          if (live == kLanes) {
            store_rows(d, v[r], row, r, at);
            continue;
          }
          hn::Store(v[r], d, vector);
          for (std::size_t lane = r; lane < live; lane += kSquare) {
            std::memcpy(row[lane] + at, vector + lane - r,
                        kSquare * sizeof(float));
          }
        }
      }
    }
    for (; at < columns; ++at) {
      hn::Store(column(at, n), d, vector);
      for (std::size_t lane = 0; lane < live; ++lane) {
        row[lane][static_cast<std::ptrdiff_t>(at) * rows.stride] = vector[lane];
      }
    }
  }
}

void store(const float* context, const float* sum, std::size_t Dv,
           std::size_t lanes, const Rows<float>& output) {
  store_columns(Dv, lanes, output, [=](std::size_t c, std::size_t n) HWY_ATTR {
    const Lane d;
    return one_nan(
        hn::Div(hn::Load(d, context + c * lanes + n), hn::Load(d, sum + n)));
  });
}

void store_weights(const float* p, const MaskWord* allowed,
                   const float* block_max, const RowState& state,
                   std::size_t keys, std::size_t lanes,
                   const Rows<float>& attn_weights) {
  const Lane d;
  alignas(64) float factor[kMaxQueryLanes];
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    hn::Store(exp2(d, hn::Sub(hn::Load(d, block_max + n),
                              hn::Load(d, state.max + n))),
              d, factor + n);
  }
  const float* sum = state.sum;
  const float* by = factor;
  store_columns(
      keys, lanes, attn_weights, [=](std::size_t k, std::size_t n) HWY_ATTR {
        const Lane here;
        const Vector scaled =
            hn::Mul(hn::Load(here, p + k * lanes + n), hn::Load(here, by + n));
        const Vector x = one_nan(hn::Div(scaled, hn::Load(here, sum + n)));
        return allowed == nullptr
                   ? x
                   : hn::IfThenElseZero(mask_of(here, allowed[k], n), x);
      });
}

const TileLayout* layout() {
  static constexpr TileLayout kLayout = {pack_queries, pack_keys, pack_values,
                                         store, store_weights};
  return &kLayout;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::kernels {
HWY_EXPORT(layout);
const TileLayout& tile_layout() { return *HWY_DYNAMIC_DISPATCH(layout)(); }
}  // namespace headwise::kernels
#endif  // HWY_ONCE
