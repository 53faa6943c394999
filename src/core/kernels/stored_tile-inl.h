// The loops of stored_tile.h, over float32 numbers or pairs of bfloat16. Per
// target: included between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE.
#if defined(HEADWISE_KERNELS_STORED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADWISE_KERNELS_STORED_TILE_INL_H_
#undef HEADWISE_KERNELS_STORED_TILE_INL_H_
#else
#define HEADWISE_KERNELS_STORED_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "headwise/version.h"
#include "kernels/half-inl.h"
#include "kernels/products-inl.h"
#include "kernels/stored_tile.h"

// The inner loops become a part of what calls them, except in sanitized builds:
// there clang takes three times as long to compile them so
// (docs/decisions/013-tests-in-ci.md).
#undef HEADWISE_INLINE_LOOP
#ifdef HEADWISE_LOOPS_APART
#define HEADWISE_INLINE_LOOP HWY_NOINLINE
#else
#define HEADWISE_INLINE_LOOP HWY_INLINE
#endif

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kRegisters = 32;
#else
constexpr std::size_t kRegisters = 16;
#endif
// Vectors whose chains, for this many rows, fill the registers. Three rows
// leave room for their p and one vector of values.
constexpr std::size_t kKeyVectors = kRegisters / 8;
constexpr std::size_t vectors_of_features(std::size_t rows) {
  return rows <= 3 ? kRegisters / 4 : kRegisters / 8;
}
// The fewest that are taken together, but for the last ones of a row.
constexpr std::size_t least_vectors(std::size_t rows) {
  return std::max<std::size_t>(vectors_of_features(rows) / 2, 2);
}

template <class T>
constexpr bool kScaled = std::is_same_v<T, std::int8_t>;

// Calls body(first row, std::integral_constant with the number of rows): once,
// but for each row by itself where a vector is one number.
template <class Body>
HWY_INLINE void with_rows(std::size_t rows, const Body& body) {
  static_assert(kRowsAtOnce == 4);
  constexpr std::integral_constant<std::size_t, 1> one;
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t r = 0; r < rows; ++r) {
    body(r, one);
  }
#else
  switch (rows) {
    case 1:
      return body(0, one);
    case 2:
      return body(0, std::integral_constant<std::size_t, 2>());
    case 3:
      return body(0, std::integral_constant<std::size_t, 3>());
    default:
      return body(0, std::integral_constant<std::size_t, 4>());
  }
#endif
}

// ---- Numbers as vectors of float32. ----

// Vector v of kCount. Of bfloat16, two vectors are the even and the odd numbers
// of 32 bits each: half the work of widening them in order. What is computed of
// both is put in order where it is stored.
template <class T, std::size_t kCount>
constexpr bool kPaired =
    std::is_same_v<T, BFloat16>&& kCount % 2 == 0 && kLanes > 1;

// In place of a row that is not there: zeros of any type, as many as a loop
// reads at once.
inline constexpr float kZeros[kRegisters / 4 * kLanes] = {};

// What the loops multiply: stored numbers T as float32. An element has one
// number here, two in PairReads (stored_pairs.cc).
template <class T>
struct FloatReads {
  using Number = T;
  using Products = FloatProducts;
  static constexpr std::size_t kPanelRows = 1;  // of an element
  static constexpr bool kNear = false;          // weigh() takes all as near

  // Vector v of kCount elements: numbers from `first` on, in a pair with those
  // from `second` on. Int8 numbers are multiplied by their scales.
  template <std::size_t kCount>
  static HWY_INLINE Vector load(const T* first, const T* /*second*/,
                                std::size_t v, Vector scale,
                                Vector /*second_scale*/) {
    const Lane d;
    if constexpr (kPaired<T, kCount>) {
      const hn::RebindToUnsigned<Lane> du;
      const hn::Repartition<std::uint16_t, Lane> du16;
      const auto both =
          hn::BitCast(du, hn::LoadU(du16, &first[v / 2 * 2 * kLanes].bits));
      return hn::BitCast(d, v % 2 == 0
                                ? hn::ShiftLeft<16>(both)
                                : hn::And(both, hn::Set(du, 0xffff0000u)));
    } else {
      const Vector x = load_widened(d, first + v * kLanes);
      return kScaled<T> ? hn::Mul(x, scale) : x;
    }
  }
  // p as it is multiplied.
  class Elements {
   public:
    Elements(const float* p, std::size_t /*rows*/, std::size_t /*keys*/)
        : p_(p) {}
    const float* data() const { return p_; }

   private:
    const float* p_;
  };
  static HWY_INLINE float rounded(float x) { return x; }
  static HWY_INLINE Vector rounded(Vector x) { return x; }
};

// Puts what was computed of two such vectors in order.
template <class T, std::size_t kCount>
HWY_INLINE void order_pairs(float* x) {
  if constexpr (kPaired<T, kCount>) {
    const Lane d;
    for (std::size_t v = 0; v < kCount; v += 2, x += 2 * kLanes) {
      hn::StoreInterleaved2(hn::LoadU(d, x), hn::LoadU(d, x + kLanes), d, x);
    }
  }
}

// ---- Memory that is read one block later. ----

// Whether to prefetch it. Where a loop does little more than wait for memory,
// the hardware does that better.
template <class T, std::size_t kRows>
constexpr bool kPrefetches = kScaled<T> || (sizeof(T) == 2 && kRows > 1);

// What stands at `at` bytes of it, as much as kCount vectors of T are: into the
// second-level cache, and the narrowest numbers of several rows into the first.
template <class T, std::size_t kRows, std::size_t kCount>
HWY_INLINE void prefetch(const void* next, std::size_t at) {
  constexpr std::size_t kLine = 64;
  constexpr int kLocality = kScaled<T> && kRows > 1 ? 3 : 2;
  const auto* from = static_cast<const std::byte*>(next) + at;
  for (std::size_t line = 0; line < kCount * kLanes * sizeof(T);
       line += kLine) {
    __builtin_prefetch(from + line, 0, kLocality);
  }
}

// ---- Scores: keys in the lanes. ----

// The keys of some vectors of a panel from `first` on.
template <class Reads, std::size_t kRows, std::size_t kCount>
HEADWISE_INLINE_LOOP void score_vectors(const float* HWY_RESTRICT q,
                                        const KeyPanel& panel,
                                        std::size_t first, std::size_t D,
                                        float factor,
                                        float* HWY_RESTRICT scores) {
  using T = typename Reads::Number;
  using Products = typename Reads::Products;
  constexpr std::size_t kNumbers = Products::kNumbers;
  const Lane d;
  const T* keys = static_cast<const T*>(panel.keys) + first;
  const std::size_t q_stride = whole_lines((D + kNumbers - 1) / kNumbers);
  Vector sum[kRows][kCount];
  Vector scale[kCount];
  for (std::size_t v = 0; v < kCount; ++v) {
    scale[v] = kScaled<T> ? hn::LoadU(d, panel.scales + first + v * kLanes)
                          : hn::Zero(d);
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r][v] = hn::Zero(d);
    }
  }
  for (std::size_t i = 0; i < D;
       i += kNumbers, keys += Reads::kPanelRows * panel.width) {
    const T* second = keys + panel.width;
    if (kNumbers == 2 && i + 1 == D) {
      second = reinterpret_cast<const T*>(kZeros);
    }
    for (std::size_t n = 0;
         kPrefetches<T, kRows> && panel.next != nullptr && n < kNumbers; ++n) {
      prefetch<T, kRows, kCount>(panel.next,
                                 ((i + n) * panel.width + first) * sizeof(T));
    }
    Vector key[kCount];
    for (std::size_t v = 0; v < kCount; ++v) {
      key[v] =
          Reads::template load<kCount>(keys, second, v, scale[v], scale[v]);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector x = hn::Set(d, q[r * q_stride + i / kNumbers]);
      for (std::size_t v = 0; v < kCount; ++v) {
        sum[r][v] = Products::add(d, key[v], x, sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kCount; ++v) {
      // A chain that ends in -0 gives +0.
      hn::Store(hn::Mul(hn::Add(sum[r][v], hn::Zero(d)), hn::Set(d, factor)), d,
                scores + r * kKeyBlock + v * kLanes);
    }
    order_pairs<T, kCount>(scores + r * kKeyBlock);
  }
}

template <class Reads, std::size_t kRows>
HWY_INLINE void score_rows(const float* q, const KeyPanel& panel, std::size_t D,
                           float factor, float* scores) {
  std::size_t k = 0;
  const auto take = [&](auto count) HWY_ATTR {
    constexpr std::size_t kCount = decltype(count)::value;
    for (; k + kCount * kLanes <= panel.width; k += kCount * kLanes) {
      score_vectors<Reads, kRows, kCount>(q, panel, k, D, factor, scores + k);
    }
  };
  take(std::integral_constant<std::size_t, kKeyVectors>());
  // Only the widest vectors fill a narrow panel with fewer of them.
  if constexpr (kKeyVectors * kLanes > kPanelKeys / 4) {
    take(std::integral_constant<std::size_t, 2>());
    take(std::integral_constant<std::size_t, 1>());
  }
}

template <class Reads>
void score(const float* q, std::size_t rows, const KeyPanel& panel,
           std::size_t D, float factor, float* scores) {
  constexpr std::size_t kNumbers = Reads::Products::kNumbers;
  const std::size_t q_stride = whole_lines((D + kNumbers - 1) / kNumbers);
  with_rows(rows, [&](std::size_t first, auto count) HWY_ATTR {
    score_rows<Reads, decltype(count)::value>(
        q + first * q_stride, panel, D, factor, scores + first * kKeyBlock);
  });
}

// ---- Values: features in the lanes. ----

// Keys whose values are read again, for other rows or features, while they are
// in the first-level cache.
constexpr std::size_t kKeysAtOnce = 16;

HWY_INLINE bool is_allowed(const KeyWords& allowed, std::size_t key) {
  return (allowed[key / 64] >> (key % 64) & 1) != 0;
}

// What a pass over the values reads and writes.
struct Weighing {
  const float* p;
  const float* elements;  // p as it is multiplied: itself or pairs
  const KeyWords* allowed;
  std::size_t context_stride;
  float* sum;
  float* context;
  bool near;  // the values are in a cache: nothing is read ahead
};

template <class Reads>
constexpr std::size_t kElements = kKeyBlock / Reads::Products::kNumbers;

template <class Reads>
HWY_INLINE Weighing rows_from(const Weighing& w, std::size_t first, bool near) {
  return {w.p + first * kKeyBlock,
          w.elements + first * kElements<Reads>,
          w.allowed,
          w.context_stride,
          w.sum + first,
          w.context + first * w.context_stride,
          near};
}

// Some vectors of features from `feature` on, of keys from `key` of the block
// on; what the keys before them gave is in the context. Pairs are not in order.
// The first vectors also sum p. With kSelect, of one row, a key counts only
// where its bit is 1.
template <class Reads, std::size_t kRows, std::size_t kCount, bool kSelect,
          bool kPrefetch = false>
HEADWISE_INLINE_LOOP void weigh_vectors(const Weighing& w,
                                        const ValueRows& values,
                                        std::size_t key, std::size_t feature) {
  static_assert(!kSelect || kRows == 1);
  using T = typename Reads::Number;
  using Products = typename Reads::Products;
  constexpr std::size_t kNumbers = Products::kNumbers;
  const Lane d;
  float* HWY_RESTRICT to = w.context + feature;
  const std::size_t stride = w.context_stride;
  Vector context[kRows][kCount];
  Vector sum[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    sum[r] = key == 0 ? hn::Zero(d) : hn::Set(d, w.sum[r]);
    for (std::size_t v = 0; v < kCount; ++v) {
      context[r][v] =
          key == 0 ? hn::Zero(d) : hn::LoadU(d, to + r * stride + v * kLanes);
    }
  }
  const float* HWY_RESTRICT p = w.p + key;
  const float* HWY_RESTRICT elements = w.elements + key / kNumbers;
  const T* from = static_cast<const T*>(values.rows) + feature;
  const std::ptrdiff_t step =
      static_cast<std::ptrdiff_t>(kNumbers) * values.row_stride;
  for (std::size_t k = 0; k < values.count; k += kNumbers, from += step) {
    const bool takes = !kSelect || is_allowed(*w.allowed, key + k);
    const bool takes_second = kNumbers == 2 && k + 1 < values.count &&
                              (!kSelect || is_allowed(*w.allowed, key + k + 1));
    if (kSelect && !takes && !takes_second) {
      continue;
    }
    for (std::size_t n = 0;
         kPrefetch && !w.near && values.next != nullptr && n < kNumbers; ++n) {
      prefetch<T, kRows, kCount>(
          values.next,
          ((k + n) * static_cast<std::size_t>(values.row_stride) + feature) *
              sizeof(T));
    }
    Vector x[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      x[r] = hn::Set(d, elements[r * kElements<Reads> + k / kNumbers]);
      if (feature == 0 && takes) {
        sum[r] = hn::Add(sum[r], hn::Set(d, p[r * kKeyBlock + k]));
      }
      if (feature == 0 && takes_second) {
        sum[r] = hn::Add(sum[r], hn::Set(d, p[r * kKeyBlock + k + 1]));
      }
    }
    const auto* const nothing = reinterpret_cast<const T*>(kZeros);
    const T* const first = takes ? from : nothing;
    const T* const second = takes_second ? from + values.row_stride : nothing;
    const Vector scale =
        kScaled<T> && takes ? hn::Set(d, values.scales[k]) : hn::Zero(d);
    const Vector second_scale = kScaled<T> && takes_second
                                    ? hn::Set(d, values.scales[k + 1])
                                    : hn::Zero(d);
    for (std::size_t v = 0; v < kCount; ++v) {
      const Vector value =
          Reads::template load<kCount>(first, second, v, scale, second_scale);
      for (std::size_t r = 0; r < kRows; ++r) {
        context[r][v] = Products::add(d, value, x[r], context[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    if (feature == 0) {
      w.sum[r] = hn::GetLane(sum[r]);
    }
    for (std::size_t v = 0; v < kCount; ++v) {
      // A chain that ends in -0 gives +0.
      hn::StoreU(hn::Add(context[r][v], hn::Zero(d)), d,
                 to + r * stride + v * kLanes);
    }
  }
}

// Features that do not fill a vector, one by one.
template <class T>
HWY_INLINE float value_of(const ValueRows& values, std::size_t k,
                          std::size_t feature) {
  const T* row = static_cast<const T*>(values.rows) +
                 static_cast<std::ptrdiff_t>(k) * values.row_stride;
  if constexpr (kScaled<T>) {
    return static_cast<float>(row[feature]) * values.scales[k];
  } else {
    return headwise::widened(row[feature]);
  }
}
// One feature and one row.
template <class Reads, bool kSelect>
HEADWISE_INLINE_LOOP void weigh_feature(const Weighing& w, const float* p,
                                        const ValueRows* parts,
                                        std::size_t part_count,
                                        std::size_t feature, float* total,
                                        float* to) {
  using T = typename Reads::Number;
  constexpr std::size_t kNumbers = Reads::Products::kNumbers;
  const hn::CappedTag<float, 1> one;
  auto context = hn::Zero(one);
  float sum = 0;
  std::size_t key = 0;
  for (std::size_t part = 0; part < part_count; ++part) {
    const std::size_t count = parts[part].count;
    for (std::size_t k = 0; k < count; k += kNumbers) {
      // The last product of an element comes first.
      for (std::size_t n = std::min(kNumbers, count - k); n-- != 0;) {
        if (!kSelect || is_allowed(*w.allowed, key + k + n)) {
          context = hn::MulAdd(
              hn::Set(one,
                      Reads::rounded(value_of<T>(parts[part], k + n, feature))),
              hn::Set(one, Reads::rounded(p[key + k + n])), context);
        }
      }
      for (std::size_t n = k; n < std::min(k + kNumbers, count); ++n) {
        sum += !kSelect || is_allowed(*w.allowed, key + n) ? p[key + n] : 0;
      }
    }
    key += count;
  }
  *total = sum;
  *to = hn::GetLane(hn::Add(context, hn::Zero(one)));
}
template <class Reads, std::size_t kRows, bool kSelect>
HWY_INLINE void weigh_few_features(const Weighing& w, const ValueRows* parts,
                                   std::size_t part_count, std::size_t Dv) {
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t feature = 0; feature < Dv; ++feature) {
      weigh_feature<Reads, kSelect>(w, w.p + r * kKeyBlock, parts, part_count,
                                    feature, w.sum + r,
                                    w.context + r * w.context_stride + feature);
    }
  }
}

// How rows and keys take turns. Values that come from memory are read 16 keys
// at a time, whole rows in sequence: three rows of p take all features of most
// heads at once. Numbers that take time to widen are better widened once for
// all rows. Values that are in the second-level cache and short rows are read
// as a whole block: four rows of p take half of these features.
template <class Reads, std::size_t kRows>
constexpr std::size_t kRowsTogether =
    Reads::kNear || sizeof(typename Reads::Number) == 1 ||
            std::is_same_v<typename Reads::Number, Float16> || kRows < 3
        ? kRows
        : 3;

// The features that fill whole vectors, of some keys.
template <class Reads, std::size_t kRows, bool kSelect, std::size_t kTogether,
          std::size_t kOfAll = kRows>
HWY_INLINE void weigh_keys(const Weighing& w, const ValueRows& values,
                           std::size_t key, std::size_t Dv) {
  using T = typename Reads::Number;
  if constexpr (kTogether < kRows) {
    weigh_keys<Reads, kTogether, kSelect, kTogether, kRows>(w, values, key, Dv);
    weigh_keys<Reads, kRows - kTogether, kSelect, kTogether, kRows>(
        rows_from<Reads>(w, kTogether, true), values, key, Dv);
  } else {
    constexpr std::size_t kCount = vectors_of_features(kRows);
    constexpr bool kPrefetch = kPrefetches<T, kOfAll>;
    std::size_t c = 0;
    for (; c + kCount * kLanes <= Dv; c += kCount * kLanes) {
      weigh_vectors<Reads, kRows, kCount, kSelect, kPrefetch>(w, values, key,
                                                              c);
    }
    constexpr std::size_t kLeast = least_vectors(kRows);
    for (; c + kLeast * kLanes <= Dv; c += kLeast * kLanes) {
      weigh_vectors<Reads, kRows, kLeast, kSelect, kPrefetch>(w, values, key,
                                                              c);
    }
    for (; c + kLanes <= Dv; c += kLanes) {
      weigh_vectors<Reads, kRows, 1, kSelect>(w, values, key, c);
    }
  }
}

// `whole_blocks`: not 16 keys at a time.
template <class Reads, std::size_t kRows, bool kSelect, std::size_t kTogether>
HWY_INLINE void weigh_rows(const Weighing& w, const ValueRows* parts,
                           std::size_t part_count, std::size_t Dv,
                           bool whole_blocks) {
  using T = typename Reads::Number;
  if (Dv < kLanes) {
    weigh_few_features<Reads, kRows, kSelect>(w, parts, part_count, Dv);
    return;
  }
  const bool one_pass =
      kTogether == kRows && vectors_of_features(kRows) * kLanes == Dv;
  const std::size_t at_once =
      whole_blocks || one_pass ? kKeyBlock : kKeysAtOnce;
  std::size_t key = 0;
  for (std::size_t part = 0; part < part_count; ++part) {
    ValueRows some = parts[part];
    for (std::size_t left = some.count; left != 0; left -= some.count) {
      some.count = std::min(left, at_once);
      weigh_keys<Reads, kRows, kSelect, kTogether>(w, some, key, Dv);
      key += some.count;
      some.rows = static_cast<const T*>(some.rows) +
                  static_cast<std::ptrdiff_t>(some.count) * some.row_stride;
      some.scales += kScaled<T> ? some.count : 0;
      if (some.next != nullptr) {
        some.next = static_cast<const T*>(some.next) +
                    static_cast<std::ptrdiff_t>(some.count) * some.row_stride;
      }
    }
  }
  constexpr std::size_t kLeast = least_vectors(kTogether);
  for (std::size_t r = 0; kPaired<T, kLeast> && r < kRows; ++r) {
    for (std::size_t c = 0; c + kLeast * kLanes <= Dv; c += kLeast * kLanes) {
      order_pairs<T, kLeast>(w.context + r * w.context_stride + c);
    }
  }
  // The last vector takes some features once more.
  key = 0;
  for (std::size_t n = 0; Dv % kLanes != 0 && n < part_count; ++n) {
    weigh_vectors<Reads, kRows, 1, kSelect>(w, parts[n], key, Dv - kLanes);
    key += parts[n].count;
  }
}

HWY_INLINE std::size_t keys_of(const ValueRows* parts, std::size_t count) {
  std::size_t keys = 0;
  for (std::size_t n = 0; n < count; ++n) {
    keys += parts[n].count;
  }
  return keys;
}

template <class Reads>
void weigh(const float* p, std::size_t rows, const ValueRows* parts,
           std::size_t part_count, std::size_t Dv, bool near, float* sum,
           float* context) {
  const typename Reads::Elements elements(p, rows, keys_of(parts, part_count));
  const Weighing all = {p,   elements.data(), nullptr, whole_lines(Dv),
                        sum, context,         near};
  with_rows(rows, [&](std::size_t first, auto count) HWY_ATTR {
    constexpr std::size_t kRows = decltype(count)::value;
    constexpr std::size_t kTogether = kRowsTogether<Reads, kRows>;
    const bool whole_blocks =
        Reads::kNear || near || Dv <= vectors_of_features(kRowsAtOnce) * kLanes;
    const Weighing w = rows_from<Reads>(all, first, near);
    // Two copies of the loops only where they differ.
    if (kTogether == kRows || !whole_blocks) {
      weigh_rows<Reads, kRows, false, kTogether>(w, parts, part_count, Dv,
                                                 whole_blocks);
    } else if constexpr (kTogether < kRows) {
      weigh_rows<Reads, kRows, false, kRows>(w, parts, part_count, Dv, true);
    }
  });
}

template <class Reads>
void weigh_allowed(const float* p, const KeyWords& allowed,
                   const ValueRows* parts, std::size_t part_count,
                   std::size_t Dv, float* sum, float* context) {
  const typename Reads::Elements elements(p, 1, keys_of(parts, part_count));
  const Weighing w = {p,   elements.data(), &allowed, whole_lines(Dv),
                      sum, context,         true};
  weigh_rows<Reads, 1, true, 1>(w, parts, part_count, Dv, true);
}

template <class Reads>
bool all_finite(const ValueRows& values, std::size_t Dv) {
  using T = typename Reads::Number;
  const Lane d;
  // x * 0 is NaN if x is not finite, and the bits of a NaN survive an OR.
  Vector poison = hn::Zero(d);
  float rest = 0;
  for (std::size_t k = 0; k < values.count; ++k) {
    const T* row = static_cast<const T*>(values.rows) +
                   static_cast<std::ptrdiff_t>(k) * values.row_stride;
    std::size_t c = 0;
    for (; !kScaled<T> && c + kLanes <= Dv; c += kLanes) {
      poison = hn::Or(poison, hn::Mul(Reads::rounded(load_widened(d, row + c)),
                                      hn::Zero(d)));
    }
    for (; c < Dv; ++c) {
      rest += Reads::rounded(value_of<T>(values, k, c)) * 0.0f;
    }
  }
  return hn::AllFalse(d, hn::IsNaN(poison)) && rest == 0;
}

template <class Reads>
constexpr StoredTile tile_by() {
  return {score<Reads>, weigh<Reads>, weigh_allowed<Reads>, all_finite<Reads>};
}

// The tile of Reads<T> for the type T, which is not float32.
template <template <class> class Reads>
const StoredTile* narrow_tile_of(StoredType type) {
  static constexpr StoredTile kBFloat16 = tile_by<Reads<BFloat16>>();
  static constexpr StoredTile kFloat16 = tile_by<Reads<Float16>>();
  static constexpr StoredTile kInt8 = tile_by<Reads<std::int8_t>>();
  return type == StoredType::bfloat16  ? &kBFloat16
         : type == StoredType::float16 ? &kFloat16
                                       : &kInt8;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#endif  // HEADWISE_KERNELS_STORED_TILE_INL_H_
