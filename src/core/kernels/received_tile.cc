#include "kernels/received_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/received_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                        // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());

// exp2(block_max - max) of each row, and its sum. p of a row whose sum is 0 is
// 0 everywhere.
struct Factors {
  HWY_INLINE explicit Factors(const ReceivedRows& rows) {
    const hn::CappedTag<float, kRowsAtOnce> d;
    constexpr std::size_t kSome = hn::MaxLanes(d);
    for (std::size_t r = 0; r < kRowsAtOnce; r += kSome) {
      const auto s = hn::LoadU(d, rows.sum + r);
      const auto apart =
          hn::Sub(hn::LoadU(d, rows.block_max + r), hn::LoadU(d, rows.max + r));
      const auto empty = hn::Eq(s, hn::Zero(d));
      hn::StoreU(hn::IfThenZeroElse(empty, exp2(d, apart)), d, factor + r);
      hn::StoreU(hn::IfThenElse(empty, hn::Set(d, 1.0f), s), d, sum + r);
    }
  }

  float factor[kRowsAtOnce];
  float sum[kRowsAtOnce];
};

template <bool kSelect>
HWY_INLINE void add_rows(const ReceivedRows& rows, std::size_t keys,
                         float* HWY_RESTRICT received) {
  const Lane d;
  const Factors by(rows);
  for (std::size_t k = 0; k < keys; k += kLanes) {
    Vector sum = hn::Load(d, received + k);
    for (std::size_t r = 0; r < rows.count; ++r) {
      const Vector p = hn::Load(d, rows.p + r * kKeyBlock + k);
      const Vector weight =
          hn::Div(hn::Mul(p, hn::Set(d, by.factor[r])), hn::Set(d, by.sum[r]));
      const Vector next = hn::Add(sum, weight);
      sum = kSelect
                ? hn::IfThenElse(mask_of(d, rows.allowed[r][k / 64], k % 64),
                                 next, sum)
                : next;
    }
    hn::Store(sum, d, received + k);
  }
}

void add(const ReceivedRows& rows, std::size_t keys, float* received) {
  if (rows.allowed == nullptr) {
    add_rows<false>(rows, keys, received);
  } else {
    add_rows<true>(rows, keys, received);
  }
}

const ReceivedTile* tile() {
  static constexpr ReceivedTile kTile = {add};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const ReceivedTile& received_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
