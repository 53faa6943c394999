// Transposes rows to columns in registers, four columns at a time: a 4 x 4
// square in each 128 bits. Per target: included between HWY_BEFORE_NAMESPACE
// and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_TRANSPOSE_INL_H_
#undef HEADWISE_KERNELS_TRANSPOSE_INL_H_
#else
#define HEADWISE_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "headwise/version.h"
#include "kernels/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kSquare = 4;
// Whether vectors are large enough for squares: a single lane is not.
constexpr bool kHasSquares = HWY_TARGET != HWY_SCALAR;

#if HWY_TARGET == HWY_SCALAR
// Declared for code that is compiled but never reached.
template <class D, class T>
hn::Vec<D> load_squares(D d, const T* const* rows, std::size_t column);
template <class D>
void store_squares(D d, hn::Vec<D> v, float* const* rows, std::size_t column);
template <class D>
void transpose_squares(D d, hn::Vec<D> (&v)[kSquare]);
#else
// Four columns of the rows 0, 4, 8, ..., in float32: one row per block of 128
// bits.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_squares(D d, const T* const* rows,
                                   std::size_t column) {
  if constexpr (hn::MaxLanes(D()) <= kSquare) {
    return load_widened(d, *rows + column);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_squares(half, rows + hn::MaxLanes(half), column),
                       load_squares(half, rows, column));
  }
}

// The inverse.
template <class D>
HWY_INLINE void store_squares(D d, hn::Vec<D> v, float* const* rows,
                              std::size_t column) {
  if constexpr (hn::MaxLanes(D()) <= kSquare) {
    hn::StoreU(v, d, *rows + column);
  } else {
    const hn::Half<D> half;
    store_squares(half, hn::LowerHalf(half, v), rows, column);
    store_squares(half, hn::UpperHalf(half, v), rows + hn::MaxLanes(half),
                  column);
  }
}

// Before, v[r] holds the columns of the rows r, r + 4, ... as load_squares
// returns them; after, v[c] holds column c of every row. Its own inverse.
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

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_TRANSPOSE_INL_H_
