#include "kernels/pair_gemm.h"

#include <algorithm>

#include "kernels/pair_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pair_gemm.cc"  // this file, from src/
#include <hwy/foreach_target.h>                    // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

// Before all that is compiled for its instructions:
#include "kernels/pairs-inl.h"
// clang-format off
#include "kernels/gemm-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

const Gemm* loops() {
  return with_pairs([](auto pairs) { return loops_of<decltype(pairs)>(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(loops);
const Gemm& pair_gemm() { return *HWY_DYNAMIC_DISPATCH(loops)(); }

std::size_t pair_strip_size(std::size_t in_features) {
  return strip_size(count_pairs(in_features));
}

void pair_strips(const float* strips, std::size_t in_features,
                 std::size_t out_features, float* pairs) {
  for (std::size_t strip = 0; strip < count_strips(out_features); ++strip) {
    std::copy_n(strips, kStripFeatures, pairs);
    pair_tile().pair_rows(strips + kStripFeatures, in_features, kStripFeatures,
                          pairs + kStripFeatures);
    strips += strip_size(in_features);
    pairs += pair_strip_size(in_features);
  }
}

namespace {

// Rows of a strip that are rounded together; an even number.
constexpr std::size_t kRowsTogether = 32;
using StripRows = float[kRowsTogether * kStripFeatures];

// fill(first, count, features, rows) writes the rows of `count` terms of a sum
// from `begin` on, for the `features` results of a strip from `first` on.
template <class Fill>
void pair_rows_of_strips(std::size_t begin, std::size_t terms,
                         std::size_t results, const Fill& fill, float* pairs) {
  alignas(64) StripRows rows;
  const std::size_t count = std::min(kRowsTogether, terms - begin);
  for (std::size_t strip = 0; strip < count_strips(results); ++strip) {
    const std::size_t first = strip * kStripFeatures;
    fill(first, count, std::min(kStripFeatures, results - first), rows);
    pair_tile().pair_rows(rows, count, kStripFeatures,
                          pairs + strip * pair_strip_size(terms) +
                              (1 + begin / 2) * kStripFeatures);
  }
}

}  // namespace

void pack_pair_strips(const float* weight, const float* bias,
                      std::size_t in_features, std::size_t out_features,
                      float* pairs) {
  for (std::size_t begin = 0; begin < in_features; begin += kRowsTogether) {
    pair_rows_of_strips(
        begin, in_features, out_features,
        [&](std::size_t first, std::size_t count, std::size_t features,
            float* rows) {
          pack_strip_rows(weight + first * in_features + begin, in_features,
                          count, features, rows);
        },
        pairs);
  }
  for (std::size_t first = 0; first < out_features; first += kStripFeatures) {
    std::fill_n(pairs, kStripFeatures, 0.0f);
    if (bias != nullptr) {
      std::copy_n(bias + first, std::min(kStripFeatures, out_features - first),
                  pairs);
    }
    pairs += pair_strip_size(in_features);
  }
}

void pack_transposed_pair_strips(const float* weight, std::size_t in_features,
                                 std::size_t out_features, float* pairs) {
  for (std::size_t begin = 0; begin < out_features; begin += kRowsTogether) {
    pair_rows_of_strips(
        begin, out_features, in_features,
        [&](std::size_t first, std::size_t count, std::size_t features,
            float* rows) {
          std::fill_n(rows, count * kStripFeatures, 0.0f);
          for (std::size_t o = 0; o < count; ++o) {
            std::copy_n(weight + (begin + o) * in_features + first, features,
                        rows + o * kStripFeatures);
          }
        },
        pairs);
  }
  for (std::size_t first = 0; first < in_features; first += kStripFeatures) {
    std::fill_n(pairs, kStripFeatures, 0.0f);  // no bias
    pairs += pair_strip_size(out_features);
  }
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
