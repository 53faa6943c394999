#include "kernels/pair_tile.h"

#include <bit>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pair_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                    // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

// Before all that is compiled for its instructions:
#include "kernels/pairs-inl.h"
// clang-format off
#include "kernels/gradient_products-inl.h"
#include "kernels/prefetch_row-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/tile_products-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

template <class Pairs>
void pair_rows(const float* HWY_RESTRICT rows, std::size_t count,
               std::size_t lanes, float* HWY_RESTRICT pairs) {
  const Lane d;
  const auto zero = hn::Zero(d);
  for (std::size_t r = 0; r < count; r += 2, pairs += lanes) {
    const float* low = rows + r * lanes;
    for (std::size_t n = 0; n < lanes; n += kLanes) {
      hn::Store(
          Pairs::pair(d, hn::Load(d, low + n),
                      r + 1 < count ? hn::Load(d, low + lanes + n) : zero),
          d, pairs + n);
    }
  }
}

// The p of two keys, in the place of the scores of keys before them.
template <class Pairs, std::size_t kVectorsHere>
HWY_INLINE void softmax_pairs(std::size_t count, float* scores, float* max,
                              float* sum) {
  const Lane d;
  BlockRows<kVectorsHere> rows(count, scores);
  constexpr std::size_t lanes = kVectorsHere * kLanes;
  const auto p = [&](std::size_t k, std::size_t v) HWY_ATTR {
    const Vector s = hn::Load(d, scores + k * lanes + v * kLanes);
    return rows.take(v, hn::Sub(s, rows.shift[v]));
  };
  std::size_t k = 0;
  for (; k + 1 < count; k += 2) {
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      const Vector low = p(k, v);
      hn::Store(Pairs::pair(d, low, p(k + 1, v)), d,
                scores + k / 2 * lanes + v * kLanes);
    }
  }
  for (std::size_t v = 0; k < count && v < kVectorsHere; ++v) {
    hn::Store(Pairs::pair(d, p(k, v), hn::Zero(d)), d,
              scores + k / 2 * lanes + v * kLanes);
  }
  rows.store(max, sum);
}

template <class Pairs>
void softmax(std::size_t count, std::size_t lanes, float* scores, float* max,
             float* sum) {
  with_whole_vectors(lanes, [&](auto vectors) HWY_ATTR {
    softmax_pairs<Pairs, decltype(vectors)::value>(count, scores, max, sum);
  });
}

// NaN where a number of a pair is NaN or infinite: times 0 it is NaN then, and
// the bits of a NaN survive an OR.
template <class D>
HWY_INLINE hn::Vec<D> poison_of(D d, hn::Vec<D> pairs) {
  const auto zero = hn::Zero(d);
  return hn::Or(hn::Mul(EmulatedPairs::lower(d, pairs), zero),
                hn::Mul(EmulatedPairs::upper(d, pairs), zero));
}

bool finite(const float* pairs, std::size_t count) {
  const Lane d;
  auto poison = hn::Zero(d);
  for (std::size_t at = 0; at < count; at += kLanes) {
    poison = hn::Or(poison, poison_of(d, hn::Load(d, pairs + at)));
  }
  return hn::AllFalse(d, hn::IsNaN(poison));
}

// Two numbers that are not in a vector.
template <class T>
HWY_INLINE float paired(T low, T high) {
  return std::bit_cast<float>(
      std::uint32_t{narrowed_to_bfloat16(widened(low)).bits} |
      (std::uint32_t{narrowed_to_bfloat16(widened(high)).bits} << 16));
}

template <class T>
HWY_INLINE void pack_keys(const Rows<const T>& k, std::size_t D,
                          float* HWY_RESTRICT keys) {
  const Lane d;
  for (std::size_t n = 0; n < k.count; ++n, keys += count_pairs(D)) {
    std::size_t at = 0;
    if (k.stride == 1) {
      prefetch_ahead(k, n, D);
      auto* const to = reinterpret_cast<BFloat16*>(keys);
      for (; at + kLanes <= D / 2 * 2; at += kLanes) {
        store_narrowed(load_widened(d, k.row(n) + at), d, to + at);
      }
    }
    for (; at + 1 < D; at += 2) {
      keys[at / 2] = paired(k.at(n, at), k.at(n, at + 1));
    }
    if (at < D) {
      keys[at / 2] = paired(k.at(n, at), T());
    }
  }
}

template <class Pairs, class T>
HWY_INLINE bool pack_values(const Rows<const T>& v, std::size_t Dv,
                            float* HWY_RESTRICT values) {
  const hn::CappedTag<float, kValuePanel> d;
  constexpr std::size_t kStep = hn::MaxLanes(d);
  const std::size_t panel = value_panel_size(count_pairs(v.count));
  alignas(64) float low[kValuePanel] = {};
  alignas(64) float high[kValuePanel] = {};
  auto poison = hn::Zero(d);
  for (std::size_t n = 0; n < v.count; n += 2, values += kValuePanel) {
    float* to = values;
    if (v.stride == 1) {
      prefetch_ahead(v, n, Dv);
      prefetch_ahead(v, n + 1, Dv);
    }
    for (std::size_t first = 0; first < Dv; first += kValuePanel, to += panel) {
      const bool whole =
          v.stride == 1 && first + kValuePanel <= Dv && n + 1 < v.count;
      for (std::size_t c = 0; !whole && c < kValuePanel; ++c) {
        const bool there = first + c < Dv;
        low[c] = there ? widened(v.at(n, first + c)) : 0.0f;
        high[c] =
            there && n + 1 < v.count ? widened(v.at(n + 1, first + c)) : 0.0f;
      }
      for (std::size_t c = 0; c < kValuePanel; c += kStep) {
        const auto pairs =
            whole ? Pairs::pair(d, load_widened(d, v.row(n) + first + c),
                                load_widened(d, v.row(n + 1) + first + c))
                  : Pairs::pair(d, hn::Load(d, low + c), hn::Load(d, high + c));
        poison = hn::Or(poison, poison_of(d, pairs));
        hn::Store(pairs, d, to + c);
      }
    }
  }
  return hn::AllFalse(d, hn::IsNaN(poison));
}

struct EndScore {
  float factor;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> sum, std::size_t v,
                                   const float* place) const {
    return hn::Mul(EndChain()(d, sum, v, place), hn::Set(d, factor));
  }
};

template <class Pairs>
void score(const float* q_t, const float* keys, std::size_t count,
           std::size_t D, std::size_t queries, float factor, float* scores) {
  score_all<Pairs>(q_t, keys, count_pairs(D), count, count_pairs(D), queries,
                   EndScore{factor}, scores);
}

template <class Pairs>
void weigh(const float* p, const float* values, std::size_t rows,
           std::size_t count, std::size_t Dv, std::size_t queries,
           const Fold& fold, float* context) {
  weigh_all<Pairs, false, false>(p, in_panels(values, count_pairs(rows)),
                                 nullptr, count_pairs(count), Dv, queries, fold,
                                 context);
}

template <class Pairs>
void weigh_allowed(const float* p, const float* values, std::size_t rows,
                   const MaskWord* allowed, std::size_t count, std::size_t Dv,
                   std::size_t queries, const Fold& fold, float* context) {
  weigh_all<Pairs, true, false>(p, in_panels(values, count_pairs(rows)),
                                allowed, count_pairs(count), Dv, queries, fold,
                                context);
}

template <class Pairs>
void add_keys(const float* d_scores, const float* keys, std::size_t rows,
              const MaskWord* allowed, std::size_t count, std::size_t D8,
              std::size_t queries, float* d_query) {
  add_keys_by<Pairs>(d_scores, keys, count_pairs(rows), allowed,
                     count_pairs(count), D8, queries, d_query);
}

template <class Pairs>
void add_queries(const QueryPart* parts, std::size_t count, std::size_t keys,
                 const float* rows, std::size_t size, float* sums) {
  add_queries_by<Pairs>(parts, count, keys, rows, size, sums);
}

template <class Pairs>
const PairTile* tile_of() {
  using Read = NumberRows<const void>;
  static constexpr PairTile kTile = {
      pair_rows<Pairs>,
      softmax<Pairs>,
      finite,
      [](const Read& k, std::size_t D, float* keys) HWY_ATTR {
        k.visit([=](const auto& rows) HWY_ATTR { pack_keys(rows, D, keys); });
      },
      [](const Read& v, std::size_t Dv, float* values) HWY_ATTR {
        return v.visit([=](const auto& rows) HWY_ATTR {
          return pack_values<Pairs>(rows, Dv, values);
        });
      },
      score<Pairs>,
      weigh<Pairs>,
      weigh_allowed<Pairs>,
      add_keys<Pairs>,
      add_queries<Pairs>};
  return &kTile;
}

const PairTile* tile() {
  return with_pairs([](auto pairs) { return tile_of<decltype(pairs)>(); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const PairTile& pair_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
