// Rows that will be copied soon. Per target: included between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_PREFETCH_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_PREFETCH_ROW_INL_H_
#undef HEADWISE_KERNELS_PREFETCH_ROW_INL_H_
#else
#define HEADWISE_KERNELS_PREFETCH_ROW_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "headwise/version.h"
#include "kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {

// The row that is copied some rows after row n, of `columns` contiguous
// elements.
template <class T>
HWY_INLINE void prefetch_ahead(const Rows<const T>& rows, std::size_t n,
                               std::size_t columns) {
  constexpr std::size_t kAhead = 8;
  constexpr std::size_t kLine = 64 / sizeof(T);
  const T* const row = rows.row(std::min(n + kAhead, rows.count - 1));
  for (std::size_t c = 0; c < columns; c += kLine) {
    hwy::Prefetch(row + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_PREFETCH_ROW_INL_H_
