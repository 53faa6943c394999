#include "kernels/gradient_tile.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gradient_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                        // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/chains-inl.h"
#include "kernels/exp2-inl.h"
#include "kernels/gradient_products-inl.h"
#include "kernels/mask_word-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

void delta(const float* HWY_RESTRICT d_output_t,
           const float* HWY_RESTRICT output_t, std::size_t Dv,
           std::size_t lanes, float* HWY_RESTRICT delta) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    Vector sum = hn::Zero(d);
    for (std::size_t c = 0; c < Dv; ++c) {
      sum = hn::MulAdd(hn::Load(d, d_output_t + c * lanes + n),
                       hn::Load(d, output_t + c * lanes + n), sum);
    }
    // A chain that ends in -0 gives +0.
    hn::Store(hn::Add(sum, hn::Zero(d)), d, delta + n);
  }
}

template <bool kMasked, bool kDropped, bool kGiven>
HWY_INLINE void softmax_gradient_of(const SavedRows& rows,
                                    const MaskWord* HWY_RESTRICT allowed,
                                    const DroppedTile& dropped,
                                    const float* HWY_RESTRICT given,
                                    std::size_t keys, std::size_t lanes,
                                    float* HWY_RESTRICT p,
                                    float* HWY_RESTRICT d_scores) {
  const Lane d;
  const Vector kept_factor = hn::Set(d, dropped.factor);
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    const Vector max = hn::Load(d, rows.max + n);
    const Vector reciprocal = hn::Load(d, rows.reciprocal + n);
    const Vector delta = hn::Load(d, rows.delta + n);
    for (std::size_t k = 0; k < keys; ++k) {
      const std::size_t at = k * lanes + n;
      Vector weight =
          hn::Mul(exp2(d, hn::Sub(hn::Load(d, p + at), max)), reciprocal);
      Vector d_weight = hn::Load(d, d_scores + at);
      if constexpr (kMasked) {
        weight = hn::IfThenElseZero(mask_of(d, allowed[k], n), weight);
      }
      if constexpr (kDropped) {
        d_weight = hn::IfThenElseZero(mask_of(d, dropped.kept[k], n),
                                      hn::Mul(d_weight, kept_factor));
      }
      if constexpr (kGiven) {
        d_weight = hn::Add(d_weight, hn::Load(d, given + at));
      }
      Vector d_score = hn::Mul(weight, hn::Sub(d_weight, delta));
      if constexpr (kMasked) {
        d_score = hn::IfThenElseZero(mask_of(d, allowed[k], n), d_score);
      }
      if constexpr (kDropped) {
        weight = hn::IfThenElseZero(mask_of(d, dropped.kept[k], n),
                                    hn::Mul(weight, kept_factor));
      }
      hn::Store(weight, d, p + at);
      hn::Store(d_score, d, d_scores + at);
    }
  }
}

void softmax_gradient(const SavedRows& rows, const MaskWord* allowed,
                      const DroppedTile& dropped, const float* given,
                      std::size_t keys, std::size_t lanes, float* p,
                      float* d_scores) {
  const auto run = [&](auto masked, auto with_dropout,
                       auto with_given) HWY_ATTR {
    softmax_gradient_of<masked.value, with_dropout.value, with_given.value>(
        rows, allowed, dropped, given, keys, lanes, p, d_scores);
  };
  const auto choose_given = [&](auto masked, auto with_dropout) HWY_ATTR {
    given == nullptr ? run(masked, with_dropout, std::false_type())
                     : run(masked, with_dropout, std::true_type());
  };
  const auto choose_dropout = [&](auto masked) HWY_ATTR {
    dropped.kept == nullptr ? choose_given(masked, std::false_type())
                            : choose_given(masked, std::true_type());
  };
  allowed == nullptr ? choose_dropout(std::false_type())
                     : choose_dropout(std::true_type());
}

void add_chain(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
               std::size_t keys, std::size_t lanes, float* HWY_RESTRICT sum) {
  const Lane d;
  for (std::size_t n = 0; n < lanes; n += kLanes) {
    Vector chain = hn::Zero(d);
    for (std::size_t k = 0; k < keys; ++k) {
      chain = hn::MulAdd(hn::Load(d, a + k * lanes + n),
                         hn::Load(d, b + k * lanes + n), chain);
    }
    hn::Store(hn::Add(hn::Load(d, sum + n), chain), d, sum + n);
  }
}

void multiply(const float* HWY_RESTRICT b, std::size_t keys, std::size_t lanes,
              float* HWY_RESTRICT a) {
  const Lane d;
  for (std::size_t at = 0; at < keys * lanes; at += kLanes) {
    hn::Store(hn::Mul(hn::Load(d, a + at), hn::Load(d, b + at)), d, a + at);
  }
}

void add_keys(const float* d_scores, const float* keys, std::size_t rows,
              const MaskWord* allowed, std::size_t count, std::size_t D8,
              std::size_t queries, float* d_query) {
  add_keys_by<FloatProducts>(d_scores, keys, rows, allowed, count, D8, queries,
                             d_query);
}

void add_queries(const QueryPart* parts, std::size_t count, std::size_t keys,
                 const float* rows, std::size_t size, float* sums) {
  add_queries_by<FloatProducts>(parts, count, keys, rows, size, sums);
}

const GradientTile* tile() {
  static constexpr GradientTile kTile = {
      delta, softmax_gradient, add_chain, multiply, add_keys, add_queries};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const GradientTile& gradient_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
