// What a cache is compared with: the numbers it holds, in plain vectors, and
// attention() on them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/base/half.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "run/float_environment.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline float flushed(float x) {
  return std::abs(x) < std::numeric_limits<float>::min()
             ? std::copysign(0.0f, x)
             : x;
}

// A vector as int8 with one scale, and back (docs/arithmetic.md, "Caches").
inline void round_to_int8(float* x, std::size_t size) {
  float most = 0;
  bool finite = true;
  for (std::size_t n = 0; n < size; ++n) {
    finite = finite && std::isfinite(x[n]);
    most = std::max(most, std::abs(x[n]));
  }
  const float scale = most / 127.0f;
  for (std::size_t n = 0; n < size; ++n) {
    if (!finite) {
      x[n] = std::bit_cast<float>(kNaNBits);
    } else if (scale < std::numeric_limits<float>::min()) {
      x[n] = 0;
    } else {
      x[n] = scale * (std::nearbyint(x[n] / scale) + 0.0f);  // no -0
    }
  }
}

// The number that a cache of this type holds for each of a vector.
inline void round_as(DType dtype, float* x, std::size_t size) {
  switch (dtype) {
    case DType::bfloat16:
      for (std::size_t n = 0; n < size; ++n) {
        x[n] = flushed(widened(narrowed_to_bfloat16(flushed(x[n]))));
      }
      return;
    case DType::float16:
      for (std::size_t n = 0; n < size; ++n) {
        x[n] = widened(narrowed_to_float16(x[n]));
      }
      return;
    case DType::int8:
      round_to_int8(x, size);
      return;
    default:
      return;
  }
}

// The tokens of one sequence, rounded.
struct PlainSequence {
  std::size_t length(const KvCacheOptions& o) const {
    return keys.size() / (o.num_kv_heads * o.head_dim);
  }

  std::vector<float> keys;    // (L, Hkv, D)
  std::vector<float> values;  // (L, Hkv, Dv)
};

// Adds the tokens [first, first + count) of key (1, rows, Hkv, D) and value.
inline void add_tokens(PlainSequence& to, const KvCacheOptions& options,
                       TensorView<const float, 4> key,
                       TensorView<const float, 4> value, std::size_t b,
                       std::size_t first, std::size_t count) {
  const std::size_t D = options.head_dim;
  const std::size_t Dv = options.v_head_dim;
  for (std::size_t n = first; n < first + count; ++n) {
    for (std::size_t g = 0; g < options.num_kv_heads; ++g) {
      std::vector<float> k(D);
      std::vector<float> v(Dv);
      for (std::size_t d = 0; d < D; ++d) {
        k[d] = key(b, n, g, d);
      }
      round_as(options.dtype, k.data(), D);
      if (options.value_is_key_prefix) {
        std::copy_n(k.begin(), Dv, v.begin());
      } else {
        for (std::size_t d = 0; d < Dv; ++d) {
          v[d] = value(b, n, g, d);
        }
        round_as(options.dtype, v.data(), Dv);
      }
      to.keys.insert(to.keys.end(), k.begin(), k.end());
      to.values.insert(to.values.end(), v.begin(), v.end());
    }
  }
}

// The outputs (1, L, Hq, Dv) of the last L tokens of a sequence, whose queries
// are query (1, L, Hq, D).
inline Tensor<float, 4> attend_plainly(const PlainSequence& sequence,
                                       const KvCacheOptions& cache,
                                       TensorView<const float, 4> query,
                                       AttentionOptions options,
                                       const OperationOptions& operation = {}) {
  const std::size_t L = sequence.length(cache);
  const std::size_t Lq = query.extent(1);
  const TensorView<const float, 4> keys(
      sequence.keys.data(), {1, L, cache.num_kv_heads, cache.head_dim});
  const TensorView<const float, 4> values(
      sequence.values.data(), {1, L, cache.num_kv_heads, cache.v_head_dim});
  options.query_start = static_cast<std::int64_t>(L - Lq);
  if (cache.window) {
    options.mask = options.mask & window(cache.window->left, std::nullopt,
                                         cache.window->keep_first);
  }
  auto output =
      filled<float, 4>({1, Lq, query.extent(2), cache.v_head_dim}, 42);
  attention(query, keys, values, output.view(), options, operation).value();
  return output;
}

}  // namespace headwise::testing_support
