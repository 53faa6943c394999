// Hopper's matrix multiplication by a warpgroup (four warps):
//
//   d (64, N)  +=  a (64, 16) b (16, N)       float32 sums of 16-bit products
//
// Thread t of the warpgroup, lane l of warp w, holds of d the rows
// 16 w + l / 4 (+ 8) and of every 8 columns two: d[4 n + 2 r + c] is row
// 16 w + l / 4 + 8 r, column 8 n + 2 (l % 4) + c. An `a` in registers is laid
// out as such a d of 16 columns, packed in pairs.
//
// Operands in shared memory are tiles of 64 columns (128 bytes a row, swizzled
// by 128 bytes as the tensor copies write them), at multiples of 1024 bytes.
//
// Source: PTX ISA 8.x, "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::cuda {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// A descriptor of an operand; `leading` and `stride` in bytes.
__device__ inline std::uint64_t descriptor(std::uint32_t address,
                                           std::uint32_t leading,
                                           std::uint32_t stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | (std::uint64_t{(address & 0x3ffffU) >> 4}) |
         (std::uint64_t{leading >> 4} << 16) |
         (std::uint64_t{stride >> 4} << 32);
}

// An operand whose sum runs along its rows (A: rows of d; B: columns of d are
// its rows): eight rows of 128 bytes repeat every 1024 bytes.
__device__ inline std::uint64_t row_operand(std::uint32_t address) {
  return descriptor(address, 16, 1024);
}

// An operand whose sum runs down its columns, of `rows` rows: its tiles of 64
// columns follow one another.
__device__ inline std::uint64_t column_operand(std::uint32_t address,
                                               std::uint32_t rows) {
  return descriptor(address, rows * 128, 1024);
}

__device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
// Until at most `kPending` groups are under way.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending)
               : "memory");
}

// Keeps the compiler from moving reads or writes of `d` across this line.
template <int kCount>
__device__ inline void hold(float (&d)[kCount]) {
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    asm volatile("" : "+f"(d[n])::"memory");
  }
}

// ss: both operands in shared memory; rs: `a` in registers. Operands are summed
// along their rows unless kTransposed. d is overwritten where !accumulate.
template <class T, int kN>
struct Wgmma;

#define HEADWISE_D4(d, n) \
  "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3])
#define HEADWISE_D16(d, n)                                         \
  HEADWISE_D4(d, n), HEADWISE_D4(d, n + 4), HEADWISE_D4(d, n + 8), \
      HEADWISE_D4(d, n + 12)
#define HEADWISE_D8(d, n) HEADWISE_D4(d, n), HEADWISE_D4(d, n + 4)
#define HEADWISE_D32(d, n) HEADWISE_D16(d, n), HEADWISE_D16(d, n + 16)

#define HEADWISE_R16                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, " \
  "%14, %15"
#define HEADWISE_R24 \
  HEADWISE_R16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23"
#define HEADWISE_R32 \
  HEADWISE_R24       \
  ", %24, %25, %26, %27, %28, %29, %30, %31"
#define HEADWISE_R40 \
  HEADWISE_R32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39"
#define HEADWISE_R48 \
  HEADWISE_R40       \
  ", %40, %41, %42, %43, %44, %45, %46, %47"
#define HEADWISE_R56 \
  HEADWISE_R48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55"
#define HEADWISE_R64 \
  HEADWISE_R56       \
  ", %56, %57, %58, %59, %60, %61, %62, %63"
#define HEADWISE_R80                                               \
  HEADWISE_R64                                                     \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, " \
  "%76, %77, %78, %79"
#define HEADWISE_R88 \
  HEADWISE_R80       \
  ", %80, %81, %82, %83, %84, %85, %86, %87"
#define HEADWISE_R96 \
  HEADWISE_R88       \
  ", %88, %89, %90, %91, %92, %93, %94, %95"
#define HEADWISE_R128                                            \
  HEADWISE_R96                                                   \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, "   \
  "%106, %107, %108, %109, %110, %111, %112, %113, %114, %115, " \
  "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, " \
  "%126, %127"

// The numbers of the operands behind d, which are counted from 0: R to R + 6.
#define HEADWISE_WGMMA(T, type, N, REGISTERS, R0, R1, R2, R3, R4, R5, R6, ...) \
  template <>                                                                  \
  struct Wgmma<T, N> {                                                         \
    template <int kTransposedA, int kTransposedB>                              \
    __device__ static void ss(float (&d)[N / 2], std::uint64_t a,              \
                              std::uint64_t b, int accumulate) {               \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #R2                    \
                   ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N                \
                   "k16.f32." type "." type " {" REGISTERS "}, %" #R0          \
                   ", %" #R1 ", p, 1, 1, %" #R3 ", %" #R4 ";\n}\n"             \
                   : __VA_ARGS__                                               \
                   : "l"(a), "l"(b), "r"(accumulate), "n"(kTransposedA),       \
                     "n"(kTransposedB));                                       \
    }                                                                          \
    template <int kTransposedB>                                                \
    __device__ static void rs(float (&d)[N / 2], const std::uint32_t (&a)[4],  \
                              std::uint64_t b, int accumulate) {               \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #R5                    \
                   ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N                \
                   "k16.f32." type "." type " {" REGISTERS "}, {%" #R0         \
                   ", %" #R1 ", %" #R2 ", %" #R3 "}, %" #R4 ", p, 1, 1, %" #R6 \
                   ";\n}\n"                                                    \
                   : __VA_ARGS__                                               \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),       \
                     "r"(accumulate), "n"(kTransposedB));                      \
    }                                                                          \
  };

// clang-format off
#define HEADWISE_WGMMA_SHAPES(T, type)                                                                 \
  HEADWISE_WGMMA(T, type, 32, HEADWISE_R16, 16, 17, 18, 19, 20, 21, 22, HEADWISE_D16(d, 0))            \
  HEADWISE_WGMMA(T, type, 64, HEADWISE_R32, 32, 33, 34, 35, 36, 37, 38, HEADWISE_D32(d, 0))            \
  HEADWISE_WGMMA(T, type, 80, HEADWISE_R40, 40, 41, 42, 43, 44, 45, 46, HEADWISE_D32(d, 0),            \
                 HEADWISE_D8(d, 32))                                                                   \
  HEADWISE_WGMMA(T, type, 96, HEADWISE_R48, 48, 49, 50, 51, 52, 53, 54, HEADWISE_D32(d, 0),            \
                 HEADWISE_D16(d, 32))                                                                  \
  HEADWISE_WGMMA(T, type, 128, HEADWISE_R64, 64, 65, 66, 67, 68, 69, 70, HEADWISE_D32(d, 0),           \
                 HEADWISE_D32(d, 32))                                                                  \
  HEADWISE_WGMMA(T, type, 176, HEADWISE_R88, 88, 89, 90, 91, 92, 93, 94, HEADWISE_D32(d, 0),           \
                 HEADWISE_D32(d, 32), HEADWISE_D16(d, 64), HEADWISE_D8(d, 80))                         \
  HEADWISE_WGMMA(T, type, 192, HEADWISE_R96, 96, 97, 98, 99, 100, 101, 102, HEADWISE_D32(d, 0),        \
                 HEADWISE_D32(d, 32), HEADWISE_D32(d, 64))                                             \
  HEADWISE_WGMMA(T, type, 256, HEADWISE_R128, 128, 129, 130, 131, 132, 133, 134, HEADWISE_D32(d, 0),   \
                 HEADWISE_D32(d, 32), HEADWISE_D32(d, 64), HEADWISE_D32(d, 96))
// clang-format on

HEADWISE_WGMMA_SHAPES(__nv_bfloat16, "bf16")
HEADWISE_WGMMA_SHAPES(__half, "f16")

// Two numbers rounded and packed, `low` in the low half.
template <class T>
__device__ inline std::uint32_t packed(float low, float high);
template <>
__device__ inline std::uint32_t packed<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}
template <>
__device__ inline std::uint32_t packed<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

__device__ inline float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float widened(__half x) { return __half2float(x); }
template <class T>
__device__ inline T narrowed(float x);
template <>
__device__ inline __nv_bfloat16 narrowed<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half narrowed<__half>(float x) {
  return __float2half_rn(x);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
