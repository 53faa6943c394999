// What a thread of a warpgroup does with its part of a product: of every 8
// columns the two from 2 (lane % 4) on, in the rows lane / 4 and 8 below; four
// neighbouring lanes share a row (wgmma.cuh).
#pragma once

#include <cstdint>

#include "cuda/wgmma.cuh"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// The first of this thread's columns of every 8.
__device__ inline int own_column() {
  return 2 * static_cast<int>(threadIdx.x % 4);
}
// The first of its rows in the warpgroup's 64.
__device__ inline int own_row() {
  return static_cast<int>(threadIdx.x) / 32 % 4 * 16 +
         static_cast<int>(threadIdx.x) % 32 / 4;
}

__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 2));
}
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffU, x, 1);
  return x + __shfl_xor_sync(0xffffffffU, x, 2);
}

__device__ inline float minus_infinity() { return -__int_as_float(0x7f800000); }

__device__ inline float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// A product of 64 rows and kN columns as the left operand of the next one.
template <class T, int kN>
__device__ inline void pack(const float (&from)[kN / 2],
                            std::uint32_t (&to)[kN / 16][4]) {
#pragma unroll
  for (int k = 0; k < kN / 16; ++k) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      to[k][e] = packed<T>(from[8 * k + 2 * e], from[8 * k + 2 * e + 1]);
    }
  }
}

// Numbers in shared memory that are not finite become 0: 0 times them would be
// NaN where they are masked. By the threads behind the first 128, `threads` of
// them. Whether this one found any.
template <class T>
__device__ inline bool clear_not_finite(unsigned char* tile, int bytes,
                                        int threads) {
  T* numbers = reinterpret_cast<T*>(tile);
  bool found = false;
  for (int n = static_cast<int>(threadIdx.x) - 128; n < bytes / 2;
       n += threads) {
    if (!isfinite(widened(numbers[n]))) {
      numbers[n] = narrowed<T>(0);
      found = true;
    }
  }
  return found;
}

// kD columns of this thread's row r (0 or 1) times a factor, to the features of
// a row in memory.
template <int kD, class T>
__device__ inline void store_row(T* to, std::int64_t stride, int features,
                                 const float (&from)[kD / 2], int r,
                                 float factor) {
  const bool pairs = stride == 1 && features % 2 == 0 &&
                     (reinterpret_cast<std::uintptr_t>(to) & 3U) == 0;
#pragma unroll
  for (int n = 0; n < kD / 8; ++n) {
    const int d = 8 * n + own_column();
    const float low = from[4 * n + 2 * r] * factor;
    const float high = from[4 * n + 2 * r + 1] * factor;
    if (pairs) {
      if (d < features) {
        *reinterpret_cast<std::uint32_t*>(to + d) = packed<T>(low, high);
      }
    } else {
      if (d < features) {
        to[d * stride] = narrowed<T>(low);
      }
      if (d + 1 < features) {
        to[(d + 1) * stride] = narrowed<T>(high);
      }
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
