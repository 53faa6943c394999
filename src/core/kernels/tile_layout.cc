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
#include "kernels/half-inl.h"
#include "kernels/mask_word-inl.h"
#include "kernels/prefetch_row-inl.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

using Lane = hn::CappedTag<float, 16>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());

// The number of columns that are processed in squares.
HWY_INLINE std::size_t square_columns(std::size_t columns,
                                      std::ptrdiff_t stride) {
  return kHasSquares && stride == 1 ? columns / kSquare * kSquare : 0;
}

// Calls body(d, n) for each vector of queries [n, n + Lanes(d)): a whole
// vector, or half of one if the remaining queries fit in it.
template <class Body>
HWY_INLINE void for_each_vector(std::size_t queries, const Body& body) {
  const Lane d;
  for (std::size_t n = 0; n < queries; n += kLanes) {
    if constexpr (kLanes == 16) {
      if (queries - n <= kLanes / 2) {
        body(hn::Half<Lane>(), n);
        return;
      }
    }
    body(d, n);
  }
}

// The rows of one vector of queries; if there are fewer, the last is repeated.
template <class D, class T>
HWY_INLINE std::array<T*, kLanes> rows_from(D /*d*/, const Rows<T>& rows,
                                            std::size_t first) {
  std::array<T*, kLanes> row;
  for (std::size_t lane = 0; lane < hn::MaxLanes(D()); ++lane) {
    row[lane] = rows.row(std::min(first + lane, rows.count - 1));
  }
  return row;
}

template <class T>
HWY_INLINE void pack_queries(const Rows<const T>& q, std::size_t D,
                             float factor, std::size_t lanes,
                             float* HWY_RESTRICT q_t) {
  const std::size_t squares = square_columns(D, q.stride);
  for_each_vector(q.count, [&](auto d, std::size_t n) HWY_ATTR {
    const auto row = rows_from(d, q, n);
    const auto times = hn::Set(d, factor);
    std::size_t at = 0;
    if constexpr (kHasSquares) {
      for (; at < squares; at += kSquare) {
        hn::Vec<decltype(d)> v[kSquare];
        for (std::size_t r = 0; r < kSquare; ++r) {
          v[r] = load_squares(d, row.data() + r, at);
        }
        transpose_squares(d, v);
        for (std::size_t c = 0; c < kSquare; ++c) {
          hn::Store(hn::Mul(v[c], times), d, q_t + (at + c) * lanes + n);
        }
      }
    }
    for (; at < D; ++at) {
      for (std::size_t lane = 0; lane < hn::MaxLanes(d); ++lane) {
        const T x = row[lane][static_cast<std::ptrdiff_t>(at) * q.stride];
        q_t[at * lanes + n + lane] = widened(x) * factor;
      }
    }
  });
}

// Contiguous elements, in float32.
HWY_INLINE void copy_widened(const float* from, std::size_t count,
                             float* HWY_RESTRICT to) {
  std::memcpy(to, from, count * sizeof(float));
}
template <class T>
HWY_INLINE void copy_widened(const T* from, std::size_t count,
                             float* HWY_RESTRICT to) {
  const Lane d;
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    hn::StoreU(load_widened(d, from + at), d, to + at);
  }
  for (; at < count; ++at) {
    to[at] = widened(from[at]);
  }
}

template <class T>
HWY_INLINE void pack_keys(const Rows<const T>& k, std::size_t D,
                          float* HWY_RESTRICT keys) {
  for (std::size_t n = 0; n < k.count; ++n, keys += D) {
    if (k.stride == 1) {
      prefetch_ahead(k, n, D);
      copy_widened(k.row(n), D, keys);
      continue;
    }
    for (std::size_t at = 0; at < D; ++at) {
      keys[at] = widened(k.at(n, at));
    }
  }
}

template <class T>
HWY_INLINE bool pack_rows(const Rows<const T>& x, std::size_t columns,
                          std::size_t size, float* HWY_RESTRICT rows) {
  const Lane d;
  // x * 0 is NaN if x is not finite, and the bits of a NaN survive an OR.
  auto poison = hn::Zero(d);
  for (std::size_t n = 0; n < x.count; ++n, rows += size) {
    pack_keys(Rows<const T>{x.row(n), 1, x.row_stride, x.stride}, columns,
              rows);
    std::fill(rows + columns, rows + size, 0.0f);
    for (std::size_t at = 0; at < size; at += kLanes) {
      poison = hn::Or(poison, hn::Mul(hn::Load(d, rows + at), hn::Zero(d)));
    }
  }
  return hn::AllFalse(d, hn::IsNaN(poison));
}

template <class T>
HWY_INLINE bool pack_values(const Rows<const T>& v, std::size_t Dv,
                            float* HWY_RESTRICT values) {
  const hn::CappedTag<float, kValuePanel> d;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const std::size_t panel = value_panel_size(v.count);
  const std::size_t whole = v.stride == 1 ? Dv / kValuePanel : 0;
  const auto zero = hn::Zero(d);
  auto poison = zero;  // as in pack_rows
  float tail_poison = 0;
  for (std::size_t n = 0; n < v.count; ++n, values += kValuePanel) {
    float* to = values;
    const T* from = v.row(n);
    if (v.stride == 1) {
      prefetch_ahead(v, n, Dv);
    }
    for (std::size_t p = 0; p < whole; ++p, to += panel, from += kValuePanel) {
      for (std::size_t c = 0; c < kValuePanel; c += kStep) {
        const auto x = load_widened(d, from + c);
        poison = hn::Or(poison, hn::Mul(x, zero));
        hn::Store(x, d, to + c);
      }
    }
    for (std::size_t first = whole * kValuePanel; first < Dv;
         first += kValuePanel, to += panel) {
      for (std::size_t c = 0; c < kValuePanel; ++c) {
        to[c] = first + c < Dv ? widened(v.at(n, first + c)) : 0.0f;
        tail_poison += to[c] * 0.0f;
      }
    }
  }
  return hn::AllFalse(d, hn::IsNaN(poison)) && tail_poison == 0;
}

template <class D>
HWY_INLINE hn::Vec<D> one_nan(D d, hn::Vec<D> x) {
  const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(x), nan, x);
}

// Writes four columns of the first `live` rows, which v holds as load_squares
// returns them.
template <class D>
HWY_INLINE void store_four(D d, hn::Vec<D> v, std::size_t r, std::size_t live,
                           float* const* rows, std::size_t column) {
  if (live == hn::MaxLanes(d)) {
    store_squares(d, v, rows + r, column);
    return;
  }
  alignas(64) float vector[hn::MaxLanes(D())];
  hn::Store(v, d, vector);
  for (std::size_t lane = r; lane < live; lane += kSquare) {
    std::memcpy(rows[lane] + column, vector + lane - r,
                kSquare * sizeof(float));
  }
}
template <class D, class T>
HWY_INLINE void store_four(D d, hn::Vec<D> v, std::size_t r, std::size_t live,
                           T* const* rows, std::size_t column) {
  alignas(64) T vector[hn::MaxLanes(D())];
  store_narrowed(v, d, vector);
  for (std::size_t lane = r; lane < live; lane += kSquare) {
    std::memcpy(rows[lane] + column, vector + lane - r, kSquare * sizeof(T));
  }
}

// Writes the tile's columns as rows. column(d, c, n) is the vector of column c
// for the queries from n on.
template <class T, class Column>
HWY_INLINE void store_columns(std::size_t columns, const Rows<T>& rows,
                              const Column& column) {
  const std::size_t squares = square_columns(columns, rows.stride);
  for_each_vector(rows.count, [&](auto d, std::size_t n) HWY_ATTR {
    const std::size_t live = std::min(hn::MaxLanes(d), rows.count - n);
    const auto row = rows_from(d, rows, n);
    alignas(64) T vector[kLanes];
    std::size_t at = 0;
    if constexpr (kHasSquares) {
      for (; at < squares; at += kSquare) {
        hn::Vec<decltype(d)> v[kSquare];
        for (std::size_t c = 0; c < kSquare; ++c) {
          v[c] = column(d, at + c, n);
        }
        transpose_squares(d, v);
        for (std::size_t r = 0; r < kSquare; ++r) {
          store_four(d, v[r], r, live, row.data(), at);
        }
      }
    }
    for (; at < columns; ++at) {
      store_narrowed(column(d, at, n), d, vector);
      for (std::size_t lane = 0; lane < live; ++lane) {
        row[lane][static_cast<std::ptrdiff_t>(at) * rows.stride] = vector[lane];
      }
    }
  });
}

template <class T>
HWY_INLINE void store(const float* context, const float* sum, std::size_t Dv,
                      std::size_t lanes, const Rows<T>& output) {
  store_columns(Dv, output, [=](auto d, std::size_t c, std::size_t n) HWY_ATTR {
    return one_nan(
        d, hn::Div(hn::Load(d, context + c * lanes + n), hn::Load(d, sum + n)));
  });
}

template <class T>
HWY_INLINE void store_scaled(const float* tile, float factor,
                             std::size_t columns, std::size_t lanes,
                             const Rows<T>& rows) {
  store_columns(
      columns, rows, [=](auto d, std::size_t c, std::size_t n) HWY_ATTR {
        return one_nan(
            d, hn::Mul(hn::Load(d, tile + c * lanes + n), hn::Set(d, factor)));
      });
}

template <class T>
HWY_INLINE void store_rows(const float* rows, float factor, std::size_t columns,
                           std::size_t size, const Rows<T>& to) {
  const Lane d;
  const auto scaled = [&](const float* from) HWY_ATTR {
    return one_nan(d, hn::Mul(hn::LoadU(d, from), hn::Set(d, factor)));
  };
  alignas(64) float last[kLanes] = {};
  alignas(64) T vector[kLanes];
  for (std::size_t n = 0; n < to.count; ++n, rows += size) {
    for (std::size_t at = 0; at < columns; at += kLanes) {
      const std::size_t live = std::min(kLanes, columns - at);
      if (to.stride == 1 && live == kLanes) {
        store_narrowed(scaled(rows + at), d, to.row(n) + at);
        continue;
      }
      std::copy_n(rows + at, live, last);
      store_narrowed(scaled(last), d, vector);
      for (std::size_t c = 0; c < live; ++c) {
        to.at(n, at + c) = vector[c];
      }
    }
  }
}

void store_weights(const float* p, const MaskWord* allowed,
                   const float* block_max, const RowState& state,
                   std::size_t keys, std::size_t lanes,
                   const Rows<float>& attn_weights) {
  const Lane lane;
  alignas(64) float factor[kMaxQueryLanes];
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    hn::Store(exp2(lane, hn::Sub(hn::Load(lane, block_max + n),
                                 hn::Load(lane, state.max + n))),
              lane, factor + n);
  }
  const float* sum = state.sum;
  const float* by = factor;
  store_columns(
      keys, attn_weights, [=](auto d, std::size_t k, std::size_t n) HWY_ATTR {
        const auto scaled =
            hn::Mul(hn::Load(d, p + k * lanes + n), hn::Load(d, by + n));
        const auto x = one_nan(d, hn::Div(scaled, hn::Load(d, sum + n)));
        return allowed == nullptr
                   ? x
                   : hn::IfThenElseZero(mask_of(d, allowed[k], n), x);
      });
}

void stream_weights(const float* p, const MaskWord* allowed,
                    const float* block_max, const RowState& state,
                    std::size_t keys, std::size_t lanes,
                    const Rows<float>& attn_weights) {
  const Lane d;
  alignas(64) float rows[kMaxQueryLanes * kKeyBlock];
  store_weights(p, allowed, block_max, state, keys, lanes,
                {rows, attn_weights.count, kKeyBlock, 1});
  for (std::size_t n = 0; n < attn_weights.count; ++n) {
    float* to = attn_weights.row(n);
    for (std::size_t k = 0; k < keys; k += kLanes) {
      hn::Stream(hn::Load(d, rows + n * kKeyBlock + k), d, to + k);
    }
  }
  hwy::FlushStream();
}

// The functions above for rows of any type.
const TileLayout* layout() {
  using Read = NumberRows<const void>;
  using Written = NumberRows<void>;
  static constexpr TileLayout kLayout = {
      [](const Read& q, std::size_t D, float factor, std::size_t lanes,
         float* q_t) HWY_ATTR {
        q.visit([=](const auto& rows)
                    HWY_ATTR { pack_queries(rows, D, factor, lanes, q_t); });
      },
      [](const Read& k, std::size_t D, float* keys) HWY_ATTR {
        k.visit([=](const auto& rows) HWY_ATTR { pack_keys(rows, D, keys); });
      },
      [](const Read& x, std::size_t columns, std::size_t size, float* to)
          HWY_ATTR {
            return x.visit([=](const auto& rows) HWY_ATTR {
              return pack_rows(rows, columns, size, to);
            });
          },
      [](const Read& v, std::size_t Dv, float* values) HWY_ATTR {
        return v.visit([=](const auto& rows)
                           HWY_ATTR { return pack_values(rows, Dv, values); });
      },
      [](const float* context, const float* sum, std::size_t Dv,
         std::size_t lanes, const Written& output) HWY_ATTR {
        output.visit([=](const auto& rows)
                         HWY_ATTR { store(context, sum, Dv, lanes, rows); });
      },
      [](const float* tile, float factor, std::size_t columns,
         std::size_t lanes, const Written& to) HWY_ATTR {
        to.visit([=](const auto& rows) HWY_ATTR {
          store_scaled(tile, factor, columns, lanes, rows);
        });
      },
      [](const float* from, float factor, std::size_t columns, std::size_t size,
         const Written& to) HWY_ATTR {
        to.visit([=](const auto& rows) HWY_ATTR {
          store_rows(from, factor, columns, size, rows);
        });
      },
      store_weights,
      stream_weights};
  return &kLayout;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(layout);
const TileLayout& tile_layout() { return *HWY_DYNAMIC_DISPATCH(layout)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
