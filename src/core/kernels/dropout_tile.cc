#include "kernels/dropout_tile.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                       // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

// A word of the generator in the low half of each lane; the high half does not
// matter.
using Wide = hn::CappedTag<std::uint64_t, 8>;
using Words = hn::Vec<Wide>;
constexpr std::size_t kCounters = hn::MaxLanes(Wide());
// Words of one counter: those of four keys.
constexpr std::size_t kWords = 4;

HWY_INLINE Words product(Words a, std::uint32_t multiplier) {
#if HWY_TARGET == HWY_SCALAR
  // A single lane has no halves.
  return hn::Set(Wide(),
                 (hn::GetLane(a) & 0xFFFFFFFF) * std::uint64_t{multiplier});
#else
  const hn::Repartition<std::uint32_t, Wide> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::Set(d32, multiplier));
#endif
}
HWY_INLINE Words high(Words product) { return hn::ShiftRight<32>(product); }

// Philox4x32-10 for the counters (sequence, head, position of the lane, group).
// The constructor computes once what depends only on the lane.
class Generator {
 public:
  HWY_INLINE Generator(const DrawnTile& tile, std::size_t first_query)
      : key_(tile.key) {
    const Wide d;
    const auto p0 = std::uint64_t{kMultiplier0} * tile.sequence;
    sequence_high_ = static_cast<std::uint32_t>(p0 >> 32);
    const Words position =
        hn::Iota(d, std::uint64_t{tile.position} + first_query);
    // The first two rounds, as far as they do not depend on the group.
    const Words p1 = product(position, kMultiplier1);
    after_first_[1] = p1;
    const Words c0 = hn::Xor(high(p1), hn::Set(d, tile.head ^ key_[0]));
    const Words second = product(c0, kMultiplier0);
    after_second_[0] =
        hn::Xor(high(second),
                hn::Set(d, static_cast<std::uint32_t>(p0) ^ round_key(1, 1)));
    after_second_[1] = second;
  }

  // The four words of a group of keys.
  HWY_INLINE void draw(std::uint32_t group, Words (&c)[kWords]) const {
    const Wide d;
    const auto p1 =
        std::uint64_t{kMultiplier1} * (sequence_high_ ^ group ^ key_[1]);
    c[0] = hn::Xor(after_first_[1], hn::Set(d, (p1 >> 32) ^ round_key(1, 0)));
    c[1] = hn::Set(d, p1 & 0xFFFFFFFF);
    c[2] = after_second_[0];
    c[3] = after_second_[1];
    for (std::uint32_t round = 2; round < kRounds; ++round) {
      const Words q0 = product(c[0], kMultiplier0);
      const Words q1 = product(c[2], kMultiplier1);
      c[0] = hn::Xor(hn::Xor(high(q1), c[1]), hn::Set(d, round_key(round, 0)));
      c[2] = hn::Xor(hn::Xor(high(q0), c[3]), hn::Set(d, round_key(round, 1)));
      c[1] = q1;
      c[3] = q0;
    }
  }

 private:
  static constexpr std::uint32_t kRounds = 10;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr std::uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};

  HWY_INLINE std::uint64_t round_key(std::uint32_t round,
                                     std::size_t word) const {
    return key_[word] + round * kWeyl[word];
  }

  PhiloxKey key_;
  std::uint32_t sequence_high_;
  Words after_first_[2];
  Words after_second_[2];
};

void draw(const DrawnTile& tile, MaskWord* HWY_RESTRICT kept) {
  const Wide d;
  const hn::RebindToSigned<Wide> di;
  const Words low = hn::Set(d, 0xFFFFFFFF);
  const auto threshold = hn::Set(di, static_cast<std::int64_t>(tile.threshold));
  std::fill_n(kept, tile.keys, MaskWord{0});
  const std::size_t first_group = tile.first_key / kWords;
  const std::size_t end_group =
      (tile.first_key + tile.keys + kWords - 1) / kWords;
  for (std::size_t n = 0; n < tile.queries; n += kCounters) {
    const Generator generator(tile, n);
    for (std::size_t group = first_group; group < end_group; ++group) {
      Words words[kWords];
      generator.draw(static_cast<std::uint32_t>(group), words);
      for (std::size_t w = 0; w < kWords; ++w) {
        const std::size_t j = group * kWords + w;
        if (j < tile.first_key || j >= tile.first_key + tile.keys) {
          continue;
        }
        const auto word = hn::BitCast(di, hn::And(words[w], low));
        std::uint8_t bytes[8] = {};  // as many as StoreMaskBits may write
        hn::StoreMaskBits(di, hn::Not(hn::Lt(word, threshold)), bytes);
        MaskWord bits = 0;
        std::memcpy(&bits, bytes, sizeof bits);
        kept[j - tile.first_key] |= bits << n;
      }
    }
  }
}

void drop(const MaskWord* HWY_RESTRICT kept, float factor, std::size_t keys,
          std::size_t lanes, float* HWY_RESTRICT weights) {
  const hn::CappedTag<float, 16> d;
  const auto by = hn::Set(d, factor);
  for (std::size_t k = 0; k < keys; ++k) {
    for (std::size_t n = 0; n < lanes; n += hn::MaxLanes(d)) {
      float* place = weights + k * lanes + n;
      hn::Store(hn::IfThenElseZero(mask_of(d, kept[k], n),
                                   hn::Mul(hn::Load(d, place), by)),
                d, place);
    }
  }
}

const DropoutTile* tile() {
  static constexpr DropoutTile kTile = {draw, drop};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const DropoutTile& dropout_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
