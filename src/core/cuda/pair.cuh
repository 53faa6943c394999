// What happens to the score of one query and one key between q.k and the
// softmax: scale, softcap, bias, ALiBi, mask; and whether its weight is
// dropped. Scores are in the log2 domain, as on the CPU (docs/arithmetic.md).
#pragma once

#include <cstdint>

#include "cuda/call.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// Where one sequence is in the tensors.
struct Sequence {
  int b;
  int batch;
  int first_query;
  int Lq;
  int first_key;
  int Lkv;
};

__device__ inline Sequence sequence_of(const Call& call, int b) {
  if (call.query_offsets == nullptr) {
    return {b, b, 0, call.Lq, 0, call.Lkv};
  }
  const int q = call.query_offsets[b];
  const int k = call.key_offsets[b];
  return {
      b, 0, q, call.query_offsets[b + 1] - q, k, call.key_offsets[b + 1] - k};
}

__device__ inline KeyRange keys_of(const Call& call, const Sequence& sequence,
                                   int i) {
  if (call.key_ranges == nullptr) {
    return {0, sequence.Lkv};
  }
  return call.key_ranges[static_cast<std::int64_t>(sequence.b) * call.Lq + i];
}

template <class T>
__device__ inline const T& at(const OverScores<const T>& tensor, int b, int h,
                              int i, int j) {
  return tensor.data[b * tensor.strides[0] + h * tensor.strides[1] +
                     i * tensor.strides[2] + j * tensor.strides[3]];
}

// Whether there are rules other than intervals of keys.
__device__ inline bool has_dense_rules(const Call& call) {
  return call.dense_masks != 0 || call.bias.data != nullptr;
}

// The dense masks and paddings; a bias of -inf masks by its score.
__device__ inline bool masks_allow(const Call& call, int b, int h, int i,
                                   int j) {
  for (int n = 0; n < call.dense_masks; ++n) {
    if (!at(call.dense[n], b, h, i, j)) {
      return false;
    }
  }
  return true;
}

// The rules that are not intervals.
__device__ inline bool dense_allows(const Call& call, int b, int h, int i,
                                    int j) {
  return masks_allow(call, b, h, i, j) &&
         (call.bias.data == nullptr ||
          at(call.bias, b, h, i, j) != -__int_as_float(0x7f800000));
}

__device__ inline bool may_attend(const Call& call, KeyRange keys, int b, int h,
                                  int i, int j) {
  return j >= keys.begin && j < keys.end && dense_allows(call, b, h, i, j);
}

// tanh of a score over its softcap, which the backward pass needs as well.
__device__ inline float capped_tanh(const Call& call, float score) {
  return tanhf(score * call.inverse_softcap);
}

// q.k -> the score, before any mask. `tanh` becomes that of the softcap.
__device__ inline float score_of(const Call& call, int b, int h, int i, int j,
                                 float dot, float& tanh) {
  constexpr float kLog2E = 1.44269504088896340736f;
  float score = dot * call.scale;
  if (call.softcap != 0) {
    tanh = capped_tanh(call, score);
    score = call.softcap * tanh;
  }
  if (call.bias.data != nullptr) {
    const float bias = at(call.bias, b, h, i, j);
    // By select: it masks a NaN, too.
    score =
        bias == -__int_as_float(0x7f800000) ? bias : fmaf(bias, kLog2E, score);
  }
  if (call.slopes != nullptr) {
    const std::int64_t distance = i + call.query_starts[b] - j;
    score =
        fmaf(call.slopes[h],
             -static_cast<float>(distance < 0 ? -distance : distance), score);
  }
  return score;
}

// Philox4x32-10; Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2,
// 3". The same words as base/random.h gives.
__device__ inline uint4 philox(uint4 counter, std::uint32_t key0,
                               std::uint32_t key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
    constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
    const std::uint32_t high0 = __umulhi(kMultiplier0, counter.x);
    const std::uint32_t low0 = kMultiplier0 * counter.x;
    const std::uint32_t high1 = __umulhi(kMultiplier1, counter.z);
    const std::uint32_t low1 = kMultiplier1 * counter.z;
    counter = {high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

// The words of the keys 4 n to 4 n + 3.
__device__ inline uint4 dropout_words(const Call& call, int b, int h, int i,
                                      int n) {
  const auto position = static_cast<std::uint32_t>(i + call.query_starts[b]);
  return philox({call.sequence_ids[b], static_cast<std::uint32_t>(h), position,
                 static_cast<std::uint32_t>(n)},
                call.dropout_key[0], call.dropout_key[1]);
}
__device__ inline std::uint32_t word_of(const uint4& words, int n) {
  const std::uint32_t low = n % 2 == 0 ? words.x : words.y;
  const std::uint32_t high = n % 2 == 0 ? words.z : words.w;
  return n < 2 ? low : high;
}

// Whether a weight is kept. The pair must be there.
__device__ inline bool keeps(const Call& call, int b, int h, int i, int j) {
  if (call.keep_mask.data != nullptr) {
    return at(call.keep_mask, b, h, i, j);
  }
  return word_of(dropout_words(call, b, h, i, j / 4), j % 4) >=
         call.dropout_threshold;
}

// Whether the weights of the keys j and j + 1 are kept: bits 0 and 1. Outside
// `keys` they don't matter.
__device__ inline unsigned keeps_pair(const Call& call, KeyRange keys, int b,
                                      int h, int i, int j) {
  if (call.keep_mask.data != nullptr) {
    const auto kept = [&](int key) {
      return key >= keys.begin && key < keys.end &&
             at(call.keep_mask, b, h, i, key);
    };
    return (kept(j) ? 1U : 0U) | (kept(j + 1) ? 2U : 0U);
  }
  const uint4 words = dropout_words(call, b, h, i, j / 4);
  const bool both = j % 4 != 3;  // unless blocks begin at an odd key
  const std::uint32_t next = both ? word_of(words, j % 4 + 1)
                                  : dropout_words(call, b, h, i, j / 4 + 1).x;
  return (word_of(words, j % 4) >= call.dropout_threshold ? 1U : 0U) |
         (next >= call.dropout_threshold ? 2U : 0U);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
