// What a cache is compared with: the numbers it holds, in plain vectors, and
// attention() on them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
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

  std::vector<float> keys;      // (L, Hkv, D)
  std::vector<float> values;    // (L, Hkv, Dv)
  std::vector<float> received;  // (L, Hq), where it is collected
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

// The last tokens of a sequence attend to all it holds: query (1, L, Hq, D).
inline void run_plainly(const PlainSequence& sequence,
                        const KvCacheOptions& cache,
                        TensorView<const float, 4> query,
                        AttentionOptions options,
                        const OperationOptions& operation,
                        const AttentionOutputs& outputs) {
  const std::size_t L = sequence.length(cache);
  const TensorView<const float, 4> keys(
      sequence.keys.data(), {1, L, cache.num_kv_heads, cache.head_dim});
  const TensorView<const float, 4> values(
      sequence.values.data(), {1, L, cache.num_kv_heads, cache.v_head_dim});
  options.query_start = static_cast<std::int64_t>(L - query.extent(1));
  if (cache.window) {
    options.mask = options.mask & window(cache.window->left, std::nullopt,
                                         cache.window->keep_first);
  }
  attention(query, keys, values, outputs, options, operation).value();
}

// Their outputs (1, L, Hq, Dv).
inline Tensor<float, 4> attend_plainly(const PlainSequence& sequence,
                                       const KvCacheOptions& cache,
                                       TensorView<const float, 4> query,
                                       const AttentionOptions& options,
                                       const OperationOptions& operation = {}) {
  auto output = filled<float, 4>(
      {1, query.extent(1), query.extent(2), cache.v_head_dim}, 42);
  run_plainly(sequence, cache, query, options, operation,
              {.output = output.view()});
  return output;
}

// Adds the attention weights of the rows to what each key received, row after
// row; a row without a key gives nothing, whatever its weights are.
inline void receive_plainly(PlainSequence& sequence,
                            const KvCacheOptions& cache,
                            TensorView<const float, 4> query,
                            AttentionOptions options,
                            const OperationOptions& operation = {}) {
  const std::size_t L = sequence.length(cache);
  const std::size_t Lq = query.extent(1);
  const std::size_t Hq = query.extent(2);
  auto output = filled<float, 4>({1, Lq, Hq, cache.v_head_dim}, 42);
  auto weights = filled<float, 4>({1, Hq, Lq, L}, 42);
  auto softmax_rows = filled<float, 4>({1, Hq, Lq, 2}, 42);
  options.attn_weights = AttnWeights::per_head;
  run_plainly(sequence, cache, query, options, operation,
              {.output = output.view(),
               .attn_weights = weights.view(),
               .softmax_rows = softmax_rows.view()});
  sequence.received.resize(L * Hq, 0.0f);
  for (std::size_t h = 0; h < Hq; ++h) {
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; softmax_rows(0, h, i, 1) != 0 && j < L; ++j) {
        sequence.received[j * Hq + h] += weights(0, h, i, j);
      }
    }
  }
}

// Keeps some tokens.
inline void keep_plainly(PlainSequence& sequence, const KvCacheOptions& cache,
                         const std::vector<std::int64_t>& indices) {
  const auto keep = [&](std::vector<float>& of, std::size_t size) {
    std::vector<float> kept;
    for (const std::int64_t index : indices) {
      const auto token = of.begin() + index * static_cast<std::ptrdiff_t>(size);
      kept.insert(kept.end(), token, token + static_cast<std::ptrdiff_t>(size));
    }
    of = std::move(kept);
  };
  keep(sequence.keys, cache.num_kv_heads * cache.head_dim);
  keep(sequence.values, cache.num_kv_heads * cache.v_head_dim);
  keep(sequence.received, cache.received_heads);
}

}  // namespace headwise::testing_support
