#include "kernels/additive_tile.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/additive_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                        // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/chains-inl.h"
#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

// ---- One query per lane. ----

template <std::size_t kVectorsHere>
HWY_INLINE void score_vectors(const float* HWY_RESTRICT q_t,
                              const float* HWY_RESTRICT keys,
                              const float* HWY_RESTRICT w, std::size_t count,
                              std::size_t D, float* HWY_RESTRICT scores) {
  const Lane d;
  constexpr std::size_t lanes = kVectorsHere * kLanes;
  const Vector log2e = hn::Set(d, 0x1.715476p+0f);
  for (std::size_t k = 0; k < count; ++k, keys += D, scores += lanes) {
    Vector sum[kVectorsHere];
    for (Vector& s : sum) {
      s = hn::Zero(d);
    }
    for (std::size_t i = 0; i < D; ++i) {
      const Vector key = hn::Set(d, keys[i]);
      const Vector by = hn::Set(d, w[i]);
      for (std::size_t v = 0; v < kVectorsHere; ++v) {
        const Vector q = hn::Load(d, q_t + i * lanes + v * kLanes);
        sum[v] = hn::MulAdd(by, tanh(d, hn::Add(q, key)), sum[v]);
      }
    }
    for (std::size_t v = 0; v < kVectorsHere; ++v) {
      // A chain that ends in -0 gives +0.
      hn::Store(hn::Mul(hn::Add(sum[v], hn::Zero(d)), log2e), d,
                scores + v * kLanes);
    }
  }
}

void score(const float* q_t, const float* keys, const float* w,
           std::size_t count, std::size_t D, std::size_t lanes, float* scores) {
  switch (lanes / kLanes) {
    case 1:
      return score_vectors<1>(q_t, keys, w, count, D, scores);
    case 2:
      return score_vectors<2>(q_t, keys, w, count, D, scores);
    default:
      return score_vectors<3>(q_t, keys, w, count, D, scores);
  }
}

// ---- One feature per lane. ----

// Features [first, first + kLanes) of a key, zeros beyond D: keys are not
// padded.
HWY_INLINE Vector key_features(const float* HWY_RESTRICT key, std::size_t first,
                               std::size_t D) {
  const Lane d;
  if (first + kLanes <= D) {
    return hn::LoadU(d, key + first);
  }
  alignas(64) float features[kLanes] = {};
  std::copy(key + first, key + D, features);
  return hn::Load(d, features);
}

// Adds the gradients of one vector of features.
template <bool kKeys, bool kQueries>
HWY_INLINE void add_features(const AdditiveBlock& block, std::size_t first,
                             const AdditiveGradients& sums) {
  const Lane d;
  const std::size_t size = row_size(block.D);
  const Vector w = hn::Load(d, block.w + first);
  const Vector one = hn::Set(d, 1.0f);
  alignas(64) float d_queries[kQueryBlock * kLanes] = {};
  alignas(64) float d_w[kQueryBlock * kLanes] = {};
  const QueryPart* const end = block.parts + block.parts_count;
  for (std::size_t k = 0; k < block.count; ++k) {
    const Vector key = key_features(block.keys + k * block.D, first, block.D);
    Vector d_key = hn::Zero(d);
    std::size_t row = 0;
    for (const QueryPart* part = block.parts; part != end; ++part) {
      const float* HWY_RESTRICT d_scores = part->p + k * part->lanes;
      for (std::size_t n = 0; n < part->queries; ++n, ++row) {
        if (part->taken != nullptr && (part->taken[k] >> n & 1) == 0) {
          continue;
        }
        const Vector query = hn::Load(d, block.queries + row * size + first);
        const Vector t = tanh(d, hn::Add(query, key));
        const Vector d_score = hn::Set(d, d_scores[n]);
        const Vector slope = hn::Mul(w, hn::NegMulAdd(t, t, one));
        float* to_query = d_queries + row * kLanes;
        float* to_w = d_w + row * kLanes;
        if constexpr (kKeys) {
          d_key = hn::MulAdd(d_score, slope, d_key);
        }
        if constexpr (kQueries) {
          hn::Store(hn::MulAdd(d_score, slope, hn::Load(d, to_query)), d,
                    to_query);
          hn::Store(hn::MulAdd(d_score, t, hn::Load(d, to_w)), d, to_w);
        }
      }
    }
    if constexpr (kKeys) {
      float* to_key = sums.d_keys + k * size + first;
      hn::Store(hn::Add(hn::Load(d, to_key), d_key), d, to_key);
    }
  }
  std::size_t rows = 0;
  for (const QueryPart* part = block.parts; kQueries && part != end; ++part) {
    rows += part->queries;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    float* to_query = sums.d_queries + row * size + first;
    float* to_w = sums.d_w + row * size + first;
    hn::Store(
        hn::Add(hn::Load(d, to_query), hn::Load(d, d_queries + row * kLanes)),
        d, to_query);
    hn::Store(hn::Add(hn::Load(d, to_w), hn::Load(d, d_w + row * kLanes)), d,
              to_w);
  }
}

void add_gradients(const AdditiveBlock& block, const AdditiveGradients& sums) {
  for (std::size_t first = 0; first < block.D; first += kLanes) {
    if (sums.d_keys == nullptr) {
      add_features<false, true>(block, first, sums);
    } else if (sums.d_queries == nullptr) {
      add_features<true, false>(block, first, sums);
    } else {
      add_features<true, true>(block, first, sums);
    }
  }
}

const AdditiveTile* tile() {
  static constexpr AdditiveTile kTile = {score, add_gradients};
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(tile);
const AdditiveTile& additive_tile() { return *HWY_DYNAMIC_DISPATCH(tile)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
