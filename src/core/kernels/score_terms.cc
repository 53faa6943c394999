#include "kernels/score_terms.h"

#include <algorithm>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/score_terms.cc"  // this file, from src/
#include <hwy/foreach_target.h>                      // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"
#include "kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

using Lane = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lane>;
constexpr std::size_t kLanes = hn::MaxLanes(Lane());

const float* bias_of(const BiasTile& bias, std::size_t n, std::size_t k) {
  return bias.data + static_cast<std::ptrdiff_t>(n) * bias.query_stride +
         static_cast<std::ptrdiff_t>(k) * bias.key_stride;
}

// ---- A tile's biases, one vector of queries after another. ----

// The biases of the queries [first, first + kLanes) and key k.
HWY_INLINE Vector gathered(const BiasTile& bias, std::size_t first,
                           std::size_t k) {
  alignas(64) float column[kLanes] = {};
  const std::size_t rows = std::min(kLanes, bias.queries - first);
  for (std::size_t n = 0; n < rows; ++n) {
    column[n] = *bias_of(bias, first + n, k);
  }
  return hn::Load(Lane(), column);
}

// Biases whose keys are contiguous: four keys of a vector of queries at a time.
// Returns the number of keys processed.
template <class Body>
HWY_INLINE std::size_t transposed(const BiasTile& bias, std::size_t first,
                                  const Body& body) {
  const Lane d;
  const float* rows[kLanes];
  for (std::size_t n = 0; n < kLanes; ++n) {
    // An unused lane reads that of the last query.
    rows[n] = bias_of(bias, std::min(first + n, bias.queries - 1), 0);
  }
  std::size_t k = 0;
  if constexpr (kHasSquares) {
    for (; k + kSquare <= bias.keys; k += kSquare) {
      Vector v[kSquare];
      for (std::size_t r = 0; r < kSquare; ++r) {
        v[r] = load_squares(d, rows + r, k);
      }
      transpose_squares(d, v);
      for (std::size_t c = 0; c < kSquare; ++c) {
        body(first, k + c, v[c]);
      }
    }
  }
  return k;
}

// Calls body(n, k, biases) with the biases of key k and the queries
// [n, n + kLanes), for every n and k.
template <class Body>
HWY_INLINE void for_each_vector(const BiasTile& bias, const Body& body) {
  const Lane d;
  for (std::size_t n = 0; n < bias.queries; n += kLanes) {
    const bool whole = n + kLanes <= bias.queries;
    if (bias.query_stride == 0) {
      for (std::size_t k = 0; k < bias.keys; ++k) {
        body(n, k, hn::Set(d, *bias_of(bias, 0, k)));
      }
    } else if (bias.key_stride == 0) {
      const Vector same = gathered(bias, n, 0);
      for (std::size_t k = 0; k < bias.keys; ++k) {
        body(n, k, same);
      }
    } else if (bias.query_stride == 1 && whole) {
      for (std::size_t k = 0; k < bias.keys; ++k) {
        body(n, k, hn::LoadU(d, bias_of(bias, n, k)));
      }
    } else {
      std::size_t k = bias.key_stride == 1 ? transposed(bias, n, body) : 0;
      for (; k < bias.keys; ++k) {
        body(n, k, gathered(bias, n, k));
      }
    }
  }
}

// ---- Changes to the scores. ----

void softcap(float cap, std::size_t keys, std::size_t lanes,
             float* HWY_RESTRICT scores) {
  const Lane d;
  const Vector c = hn::Set(d, cap);
  for (std::size_t at = 0; at < keys * lanes; at += kLanes) {
    const Vector capped = tanh(d, hn::Div(hn::Load(d, scores + at), c));
    hn::Store(hn::Mul(c, capped), d, scores + at);
  }
}

void softcap_with_slope(float cap, std::size_t keys, std::size_t lanes,
                        float* HWY_RESTRICT scores, float* HWY_RESTRICT slope) {
  const Lane d;
  const Vector c = hn::Set(d, cap);
  for (std::size_t at = 0; at < keys * lanes; at += kLanes) {
    const Vector capped = tanh(d, hn::Div(hn::Load(d, scores + at), c));
    hn::Store(hn::NegMulAdd(capped, capped, hn::Set(d, 1.0f)), d, slope + at);
    hn::Store(hn::Mul(c, capped), d, scores + at);
  }
}

void add_bias(const BiasTile& bias, std::size_t lanes,
              float* HWY_RESTRICT scores) {
  const Vector log2e = hn::Set(Lane(), 0x1.715476p+0f);
  for_each_vector(
      bias, [&](std::size_t n, std::size_t k, Vector added) HWY_ATTR {
        const Lane d;
        float* place = scores + k * lanes + n;
        hn::Store(hn::MulAdd(added, log2e, hn::Load(d, place)), d, place);
      });
}

void add_key_bias(const float* HWY_RESTRICT bias, std::size_t keys,
                  std::size_t lanes, const float* scores, float* to) {
  const Lane d;
  const Vector log2e = hn::Set(d, 0x1.715476p+0f);
  for (std::size_t k = 0; k < keys; ++k) {
    const Vector added = hn::Set(d, bias[k]);
    for (std::size_t n = k * lanes; n < (k + 1) * lanes; n += kLanes) {
      hn::Store(hn::MulAdd(added, log2e, hn::Load(d, scores + n)), d, to + n);
    }
  }
}

void add_diagonals(const float* HWY_RESTRICT diagonals, std::size_t keys,
                   std::size_t lanes, float* HWY_RESTRICT scores) {
  const Lane d;
  const Vector log2e = hn::Set(d, 0x1.715476p+0f);
  for (std::size_t k = 0; k < keys; ++k) {
    const float* const row = diagonals + (keys - 1 - k);
    for (std::size_t n = 0; n < lanes; n += kLanes) {
      float* place = scores + k * lanes + n;
      hn::Store(hn::MulAdd(hn::LoadU(d, row + n), log2e, hn::Load(d, place)), d,
                place);
    }
  }
}

void sum_diagonals(const float* HWY_RESTRICT scores, std::size_t keys,
                   std::size_t queries, std::size_t lanes,
                   float* HWY_RESTRICT diagonals) {
  const Lane d;
  for (std::size_t k = 0; k < keys; ++k) {
    float* const row = diagonals + (keys - 1 - k);
    for (std::size_t n = 0; n < lanes; n += kLanes) {
      const Vector used = hn::IfThenElseZero(
          hn::FirstN(d, queries - n), hn::Load(d, scores + k * lanes + n));
      hn::StoreU(hn::Add(hn::LoadU(d, row + n), used), d, row + n);
    }
  }
}

// The distances to key k as floats, when some are too large for exact sums.
HWY_INLINE Vector far_distances(std::int64_t offset) {
  alignas(64) float distances[kLanes];
  for (std::size_t n = 0; n < kLanes; ++n) {
    const std::int64_t signed_distance = offset + static_cast<std::int64_t>(n);
    distances[n] = static_cast<float>(signed_distance < 0 ? -signed_distance
                                                          : signed_distance);
  }
  return hn::Load(Lane(), distances);
}

void add_alibi(float slope, std::int64_t offset, std::size_t keys,
               std::size_t lanes, float* HWY_RESTRICT scores) {
  const Lane d;
  const Vector by = hn::Set(d, slope);
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  const bool near = offset - static_cast<std::int64_t>(keys) > -kExact &&
                    offset + static_cast<std::int64_t>(lanes) < kExact;
  for (std::size_t k = 0; k < keys; ++k) {
    for (std::size_t n = 0; n < lanes; n += kLanes) {
      const std::int64_t first =
          offset + static_cast<std::int64_t>(n) - static_cast<std::int64_t>(k);
      const Vector distance =
          near ? hn::Abs(hn::Iota(d, static_cast<float>(first)))
               : far_distances(first);
      float* place = scores + k * lanes + n;
      hn::Store(hn::NegMulAdd(by, distance, hn::Load(d, place)), d, place);
    }
  }
}

// ---- Biases of -inf, which mask. ----

HWY_INLINE std::size_t count_in_row(const float* row, std::size_t size) {
  const Lane d;
  const Vector minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::size_t count = 0;
  std::size_t at = 0;
  for (; at + kLanes <= size; at += kLanes) {
    count += hn::CountTrue(d, hn::Eq(hn::LoadU(d, row + at), minus_inf));
  }
  for (; at < size; ++at) {
    count += row[at] == -std::numeric_limits<float>::infinity() ? 1 : 0;
  }
  return count;
}

std::size_t count_minus_inf(const BiasTile& bias) {
  std::size_t count = 0;
  if (bias.key_stride == 1) {
    for (std::size_t n = 0; n < bias.queries; ++n) {
      count += count_in_row(bias_of(bias, n, 0), bias.keys);
    }
  } else if (bias.query_stride == 1) {
    for (std::size_t k = 0; k < bias.keys; ++k) {
      count += count_in_row(bias_of(bias, 0, k), bias.queries);
    }
  } else {
    for (std::size_t n = 0; n < bias.queries; ++n) {
      for (std::size_t k = 0; k < bias.keys; ++k) {
        count += count_in_row(bias_of(bias, n, k), 1);
      }
    }
  }
  return count;
}

void clear_minus_inf(const BiasTile& bias, MaskWord* HWY_RESTRICT allowed) {
  const Vector minus_inf =
      hn::Set(Lane(), -std::numeric_limits<float>::infinity());
  for_each_vector(
      bias, [&](std::size_t n, std::size_t k, Vector added) HWY_ATTR {
        std::uint8_t bytes[8] = {};  // as many as StoreMaskBits may write
        hn::StoreMaskBits(Lane(), hn::Eq(added, minus_inf), bytes);
        MaskWord masked = 0;
        std::memcpy(&masked, bytes, sizeof masked);
        allowed[k] &= ~(masked << n);
      });
}

const ScoreTerms* terms() {
  static constexpr ScoreTerms kTerms = {
      softcap,       softcap_with_slope, add_bias,
      add_key_bias,  add_diagonals,      add_alibi,
      sum_diagonals, count_minus_inf,    clear_minus_inf};
  return &kTerms;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(terms);
const ScoreTerms& score_terms() { return *HWY_DYNAMIC_DISPATCH(terms)(); }
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
