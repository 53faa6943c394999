// The gradient of the scores, pair by pair, for both backward kernels. Theirs
// differ in what a thread's elements are: queries stand in the rows of one and
// in the columns of the other, so each says by `place(e)` which pair element e
// is.
//
//   P  = exp2(S - lse)               again; lse in the log2 domain
//   dP = dO V^T, dropped as P was
//   dS = P * (dP - Delta), times 1 - tanh^2 under a softcap
#pragma once

#include <cstdint>

#include "cuda/call.h"
#include "cuda/fragment.cuh"
#include "cuda/pair.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

// What the backward pass needs of each row of the forward pass, by sequence,
// query head and query, with rows rounded up to whole blocks: the logarithm
// (base 2) of its sum of exponentials, +inf for a row without a key; and Delta,
// the sum over the features of its output times the gradient of that.
struct RowStatistics {
  float* lse;
  float* delta;
  int rows;  // of a sequence

  __device__ std::int64_t at(const Call& call, int b, int h, int i) const {
    return (static_cast<std::int64_t>(b) * call.Hq + h) * rows + i;
  }
};

struct Place {
  int i;
  int j;
};

// Which of a thread's elements belong to pairs that attend. Rolled: it runs in
// tiles that are masked in part only.
template <bool kTerms, int kCount, class PlaceOf>
__device__ inline std::uint64_t attending_bits(const Call& call,
                                               const Sequence& sequence, int h,
                                               const PlaceOf& place) {
  static_assert(kCount <= 64);
  std::uint64_t bits = 0;
#pragma unroll 4
  for (int e = 0; e < kCount; ++e) {
    const Place p = place(e);
    bool attends = p.i < sequence.Lq;
    if (attends) {
      const KeyRange keys = keys_of(call, sequence, p.i);
      attends = p.j >= keys.begin && p.j < keys.end &&
                (!kTerms || dense_allows(call, sequence.b, h, p.i, p.j));
    }
    bits |= std::uint64_t{attends} << e;
  }
  return bits;
}

template <int kCount, class PlaceOf>
__device__ inline std::uint64_t kept_bits(const Call& call,
                                          const Sequence& sequence, int h,
                                          const PlaceOf& place) {
  std::uint64_t bits = 0;
  for (int e = 0; e < kCount; ++e) {
    const Place p = place(e);
    const bool inside = p.i < sequence.Lq && p.j < sequence.Lkv;
    const bool kept = inside && keeps(call, sequence.b, h, p.i, p.j);
    bits |= std::uint64_t{kept} << e;
  }
  return bits;
}

__device__ inline bool has(std::uint64_t bits, int e) {
  return (bits >> e) % 2 != 0;
}

// What is known of a tile's pairs besides their scores.
struct PairBits {
  bool partial;
  std::uint64_t attending;  // all, unless partial
  std::uint64_t kept;       // only when dropping
};

template <bool kTerms, int kCount, class PlaceOf>
__device__ inline PairBits pair_bits(const Call& call, const Sequence& sequence,
                                     int h, bool partial,
                                     const PlaceOf& place) {
  PairBits bits{partial || (kTerms && has_dense_rules(call)), ~std::uint64_t{0},
                0};
  if (bits.partial) {
    bits.attending = attending_bits<kTerms, kCount>(call, sequence, h, place);
  }
  if constexpr (kTerms) {
    if (call.dropping) {
      bits.kept = kept_bits<kCount>(call, sequence, h, place);
    }
  }
  return bits;
}

// Dot products become P; `slope` becomes the derivative of the score by its dot
// product, over scale.
template <bool kTerms, int kCount, class PlaceOf, class LseOf>
__device__ inline void weights_again(const Call& call, int b, int h,
                                     const PairBits& bits, const PlaceOf& place,
                                     const LseOf& lse, float (&scores)[kCount],
                                     float (&slope)[kTerms ? kCount : 1]) {
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    if constexpr (kTerms) {
      const Place p = place(e);
      slope[e] = 1;
      float weight = 0;
      if (has(bits.attending, e)) {
        float tanh = 0;
        weight =
            exp2_of(score_of(call, b, h, p.i, p.j, scores[e], tanh) - lse(e));
        slope[e] = call.softcap != 0 ? fmaf(-tanh, tanh, 1) : 1;
      }
      scores[e] = weight;
    } else {
      scores[e] = exp2_of(fmaf(scores[e], call.scale, -lse(e)));
    }
  }
  if (!kTerms && bits.partial) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      scores[e] = has(bits.attending, e) ? scores[e] : 0;
    }
  }
}

// dP becomes dS; `weights` are P before dropout.
template <bool kTerms, int kCount, class DeltaOf>
__device__ inline void score_gradients(
    const Call& call, const PairBits& bits, const float (&weights)[kCount],
    const DeltaOf& delta, const float (&slope)[kTerms ? kCount : 1],
    float (&gradients)[kCount]) {
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    float g = gradients[e];
    if constexpr (kTerms) {
      if (call.dropping) {
        g = has(bits.kept, e) ? g * call.dropout_factor : 0;
      }
      gradients[e] = weights[e] * (g - delta(e)) * slope[e];
    } else {
      gradients[e] = weights[e] * (g - delta(e));
    }
  }
  if (bits.partial) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      gradients[e] = has(bits.attending, e) ? gradients[e] : 0;
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
