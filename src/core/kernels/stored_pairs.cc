#include "kernels/stored_pairs.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_pairs.cc"  // this file, from src/
#include <hwy/foreach_target.h>                       // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

// Before all that is compiled for its instructions:
#include "kernels/pairs-inl.h"
// clang-format off
#include "kernels/stored_tile-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

// Pairs of the numbers T of two rows, rounded.
template <class Pairs, class T>
struct PairReads {
  using Number = T;
  using Products = Pairs;
  static constexpr std::size_t kPanelRows = 2;
  // What takes long to convert is converted once for all rows.
  static constexpr bool kNear = !std::is_same_v<T, BFloat16>;

  // As FloatReads::load().
  template <std::size_t kCount>
  static HWY_INLINE Vector load(const T* first, const T* second, std::size_t v,
                                Vector scale, Vector second_scale) {
    const Lane d;
    if constexpr (kPaired<T, kCount>) {
      const std::size_t at = v / 2 * 2 * kLanes;
      return load_paired(d, first + at, second + at, v % 2 == 0);
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return hn::BitCast(d,
                         hn::Or(bits(first + v * kLanes),
                                hn::ShiftLeft<16>(bits(second + v * kLanes))));
    } else {
      return Pairs::pair(d, number(first + v * kLanes, scale),
                         number(second + v * kLanes, second_scale));
    }
  }
  // The pairs of p, rounded.
  class Elements {
   public:
    HWY_INLINE Elements(const float* p, std::size_t rows, std::size_t keys) {
      const Lane d;
      for (std::size_t r = 0; r < rows; ++r) {
        float* const pairs = p_ + r * kKeyBlock / 2;
        for (std::size_t k = 0; k < keys; k += kLanes) {
          alignas(64) BFloat16 rounded[kLanes];
          store_narrowed(hn::Load(d, p + r * kKeyBlock + k), d, rounded);
          std::memcpy(reinterpret_cast<char*>(pairs) + k * sizeof(BFloat16),
                      rounded, sizeof rounded);
        }
        if (keys % 2 != 0) {
          std::memset(reinterpret_cast<char*>(pairs) + keys * sizeof(BFloat16),
                      0, sizeof(BFloat16));
        }
      }
    }
    const float* data() const { return p_; }

   private:
    alignas(64) float p_[kRowsAtOnce * kKeyBlock / 2];
  };
  static HWY_INLINE float rounded(float x) {
    return headwise::widened(narrowed_to_bfloat16(x));
  }
  static HWY_INLINE Vector rounded(Vector x) {
    return EmulatedPairs::lower(Lane(), Pairs::pair(Lane(), x, x));
  }

 private:
  static HWY_INLINE Vector number(const T* from, Vector scale) {
    const Vector x = load_widened(Lane(), from);
    return kScaled<T> ? hn::Mul(x, scale) : x;
  }
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<Lane>> bits(const T* from) {
    return hn::PromoteTo(hn::RebindToUnsigned<Lane>(),
                         hn::LoadU(HalfBits<Lane>(), &from->bits));
  }
  // Of the numbers of two vectors, the even or the odd ones.
  template <class D>
  static HWY_INLINE hn::Vec<D> load_paired(D d, const T* first, const T* second,
                                           bool even) {
    const hn::Repartition<std::uint16_t, D> du16;
    const hn::RebindToUnsigned<D> du;
    const auto low = hn::LoadU(du16, &first->bits);
    const auto high = hn::LoadU(du16, &second->bits);
    if (even) {
      const auto shifted = hn::ShiftLeft<16>(hn::BitCast(du, high));
      return hn::BitCast(d, hn::OddEven(hn::BitCast(du16, shifted), low));
    }
    const auto shifted = hn::ShiftRight<16>(hn::BitCast(du, low));
    return hn::BitCast(d, hn::OddEven(high, hn::BitCast(du16, shifted)));
  }
};

// Panels of pairs.
template <class Pairs>
struct PanelReads : PairReads<Pairs, float> {
  static constexpr std::size_t kPanelRows = 1;

  template <std::size_t /*kCount*/>
  static HWY_INLINE Vector load(const float* from, const float* /*second*/,
                                std::size_t v, Vector /*scale*/,
                                Vector /*second_scale*/) {
    return hn::LoadU(Lane(), from + v * kLanes);
  }
};

template <class Pairs>
const StoredTile* tile_of_panels() {
  static constexpr StoredTile kTile = {score<PanelReads<Pairs>>,
                                       weigh<PairReads<Pairs, float>>,
                                       weigh_allowed<PairReads<Pairs, float>>,
                                       all_finite<PairReads<Pairs, float>>};
  return &kTile;
}

template <class Pairs>
struct ReadsOf {
  template <class T>
  using Reads = PairReads<Pairs, T>;
};

const StoredTile* stored(StoredType type) {
  return with_pairs([=](auto pairs) {
    static constexpr StoredTile kFloat32 =
        tile_by<PairReads<decltype(pairs), float>>();
    return type == StoredType::float32
               ? &kFloat32
               : narrow_tile_of<ReadsOf<decltype(pairs)>::template Reads>(type);
  });
}

const StoredTile* panels() {
  return with_pairs(
      [](auto pairs) { return tile_of_panels<decltype(pairs)>(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(stored);
const StoredTile& stored_pairs(StoredType type) {
  return *HWY_DYNAMIC_DISPATCH(stored)(type);
}
HWY_EXPORT(panels);
const StoredTile& panels_of_pairs() { return *HWY_DYNAMIC_DISPATCH(panels)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
