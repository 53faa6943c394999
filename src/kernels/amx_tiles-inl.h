// Tiles of AMX, eight in a thread: those of the processor and the same in
// ordinary code. Per target: included between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE, after pairs-inl.h.
//
// A tile has up to 16 rows of up to 64 bytes. multiply<C, A, B>() adds products
// of bfloat16: rows of A and C are tokens, rows of B are pairs of input
// features, and columns of B and C are output features. This is TDPBF16PS
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2): for
// each number of C, from +0, one chain of fused multiply-adds over the lower
// numbers of the pairs of A's row and B's column and another one over the
// upper; then C + (lower chain + upper chain). All of it is rounded to nearest
// even, with denormal numbers as zeros before and after. The processor ignores
// the thread's floating-point environment; the emulation relies on it
// (run/float_environment.h).
#if defined(HEADWISE_KERNELS_AMX_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_AMX_TILES_INL_H_
#undef HEADWISE_KERNELS_AMX_TILES_INL_H_
#else
#define HEADWISE_KERNELS_AMX_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "headwise/version.h"
#include "kernels/pairs-inl.h"

// Compilers use these instructions only where they are asked to.
#undef HEADWISE_AMX
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64
#define HEADWISE_AMX
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512bf16,amx-tile,amx-bf16"
#endif

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {

constexpr std::size_t kTileSide = 16;  // rows, and elements of a row

// What LDTILECFG reads.
struct alignas(64) TileShapes {
  static constexpr std::size_t kTiles = 8;

  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  // A tile without rows has no columns.
  void set(std::size_t tile, std::size_t count) {
    rows[tile] = static_cast<std::uint8_t>(count);
    row_bytes[tile] = count == 0 ? 0 : kTileSide * sizeof(float);
  }
};
static_assert(sizeof(TileShapes) == 64);

// `apart` is the number of floats from a row to the next.
class EmulatedTiles {
 public:
  // Every tile is zero then.
  void set_shapes(const TileShapes& shapes) {
    shapes_ = shapes;
    std::fill_n(&tiles_[0][0][0], sizeof(tiles_) / sizeof(float), 0.0f);
  }
  template <std::size_t kTile>
  void clear() {
    std::fill_n(&tiles_[kTile][0][0], kTileSide * kTileSide, 0.0f);
  }
  template <std::size_t kTile>
  void load(const float* from, std::ptrdiff_t apart) {
    clear<kTile>();
    for (std::size_t r = 0; r < shapes_.rows[kTile]; ++r, from += apart) {
      std::copy_n(from, columns(kTile), tiles_[kTile][r]);
    }
  }
  template <std::size_t kTile>
  void store(float* to, std::ptrdiff_t apart) const {
    for (std::size_t r = 0; r < shapes_.rows[kTile]; ++r, to += apart) {
      std::copy_n(tiles_[kTile][r], columns(kTile), to);
    }
  }
  template <std::size_t kC, std::size_t kA, std::size_t kB>
  void multiply() {
    // The processor refuses these.
    const bool fit = shapes_.rows[kC] == shapes_.rows[kA] &&
                     columns(kA) == shapes_.rows[kB] &&
                     columns(kB) == columns(kC) && columns(kC) != 0;
    for (std::size_t r = 0; r < shapes_.rows[kC]; ++r) {
      float lower_sum[kTileSide] = {};
      float upper_sum[kTileSide] = {};
      for (std::size_t pair = 0; pair < columns(kA); ++pair) {
        const float x = tiles_[kA][r][pair];
        for (std::size_t c = 0; c < kTileSide; ++c) {
          const float w = tiles_[kB][pair][c];
          lower_sum[c] = std::fma(lower(x), lower(w), lower_sum[c]);
          upper_sum[c] = std::fma(upper(x), upper(w), upper_sum[c]);
        }
      }
      for (std::size_t c = 0; c < columns(kC); ++c) {
        tiles_[kC][r][c] += fit ? lower_sum[c] + upper_sum[c]
                                : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }

 private:
  static float lower(float pair) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) << 16);
  }
  static float upper(float pair) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(pair) &
                                0xffff0000u);
  }
  std::size_t columns(std::size_t tile) const {
    return shapes_.row_bytes[tile] / sizeof(float);
  }

  TileShapes shapes_;
  float tiles_[TileShapes::kTiles][kTileSide][kTileSide];
};

#ifdef HEADWISE_AMX
// In assembly: what <immintrin.h> of g++ 12 has does not tell the compiler that
// it reads and writes memory. In AT&T's order of operands the last is written.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  // Otherwise the system would save and restore the tiles of this thread.
  ~AmxTiles() { asm volatile("tilerelease"); }

  static void set_shapes(const TileShapes& shapes) {
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  template <std::size_t kTile>
  static void clear() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <std::size_t kTile>
  static void load(const float* from, std::ptrdiff_t apart) {
    asm volatile("tileloadd (%0,%1,4), %%tmm%c2"
                 :
                 : "r"(from), "r"(apart), "i"(kTile)
                 : "memory");
  }
  template <std::size_t kTile>
  static void store(float* to, std::ptrdiff_t apart) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,4)"
                 :
                 : "r"(to), "r"(apart), "i"(kTile)
                 : "memory");
  }
  template <std::size_t kC, std::size_t kA, std::size_t kB>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                 :
                 : "i"(kC), "i"(kA), "i"(kB));
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_AMX_TILES_INL_H_
