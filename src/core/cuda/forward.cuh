// Attention forward by Hopper's matrix instructions. A block of threads takes
// one tile of queries after another; one warp copies tiles of Q, K and V into
// shared memory, and each warpgroup of the others computes 64 rows:
//
//   S = Q K^T                      64 x kN scores, in registers
//   P = exp2(S - max)              packed to 16 bits, stays in registers
//   O = O * exp2(old max - max) + P V
//
// with the scores of the next keys under way while this softmax and P V are,
// and the warpgroups taking turns, so that one's softmax is under another's
// matrix products. Keys come in blocks of kN from the sequence's first key on,
// in order: a row's bits do not depend on the tile it is in.
//
// Source: Shah et al. 2024, "FlashAttention-3", arXiv:2407.08608, algorithm 2.
#pragma once

#include <cstdint>

#include "cuda/call.h"
#include "cuda/fragment.cuh"
#include "cuda/pair.cuh"
#include "cuda/pipeline.cuh"
#include "cuda/wgmma.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
struct ForwardOutputs {
  DeviceTensor<T, 4> output;            // batch, row, head, feature
  DeviceTensor<float, 3> lse;           // batch, head, row
  DeviceTensor<float, 4> softmax_rows;  // batch, head, row, {max, sum}
};

template <class T>
struct ForwardParams {
  Call call;
  ForwardOutputs<T> to;
  const QueryTile* tiles;
  const WorkItem* work;
  int work_items;
  int* next_item;  // the counter that deals out the work, 0 at the start
  // Null where nothing is masked. Flags: whether any is set, then one a work
  // item: its output is not finite, and a masked value may be why. The second
  // pass does those again.
  int* suspect;
};

// The sizes of a kernel: kD features (the head size rounded up), tiles of
// 64 * kGroups queries and kN keys.
template <int kD_, int kGroups_, int kN_>
struct ForwardShape {
  static constexpr int kD = kD_;
  static constexpr int kGroups = kGroups_;
  static constexpr int kN = kN_;
  static constexpr int kM = 64 * kGroups;
  static constexpr int kColumnTiles = (kD + 63) / 64;
  static constexpr int kStages = 2;
  static constexpr int kThreads = 128 * (kGroups + 1);
  static constexpr int kQueryBytes = kM * kColumnTiles * 128;
  static constexpr int kKeyBytes = kN * kColumnTiles * 128;
  static constexpr int kSharedBytes =
      1024 + kQueryBytes + 2 * kStages * kKeyBytes + 256;
  // Registers of a computing thread, and of a copying one: together no more
  // than all threads had at the start, or they wait for ever.
  static constexpr int kComputing = kGroups == 2 ? 240 : 160;
  static constexpr int kCopying = kGroups == 2 ? 24 : 32;
  static_assert(kComputing * kGroups + kCopying <=
                65536 / kThreads / 8 * 8 * (kGroups + 1));
};

template <class Shape>
struct ForwardShared {
  static constexpr int kStages = Shape::kStages;

  Barrier query_full, query_empty;
  Barrier key_full[kStages], key_empty[kStages];
  Barrier value_full[kStages], value_empty[kStages];
  int item;  // what the computing threads do next; -1: nothing more
};

// The blocks of keys that a tile of queries sees.
struct Blocks {
  int begin;
  int end;
};
template <int kN>
__device__ inline Blocks blocks_of(const QueryTile& tile) {
  if (tile.begin >= tile.end) {
    return {0, 0};
  }
  return {(tile.begin - tile.block_origin) / kN,
          (tile.end - tile.block_origin + kN - 1) / kN};
}

// The copying warp: one thread of it issues every copy.
template <class Shape, bool kSecondPass, class T>
__device__ void copy_tiles(const CUtensorMap& query_map,
                           const CUtensorMap& key_map,
                           const CUtensorMap& value_map,
                           const ForwardParams<T>& p,
                           ForwardShared<Shape>& shared, unsigned char* queries,
                           unsigned char* keys, unsigned char* values) {
  constexpr int kN = Shape::kN;
  constexpr int kTiles = Shape::kColumnTiles;
  prefetch(query_map);
  prefetch(key_map);
  prefetch(value_map);
  Ring<Shape::kStages> ring;
  int query_round = 0;
  int item = static_cast<int>(blockIdx.x);
  while (true) {
    if constexpr (kSecondPass) {
      while (item < p.work_items && p.suspect[1 + item] == 0) {
        item += static_cast<int>(gridDim.x);
      }
    }
    wait(shared.query_empty, query_round ^ 1);
    if (item >= p.work_items) {
      shared.item = -1;
      arrive(shared.query_full);
      return;
    }
    shared.item = item;
    const WorkItem work = p.work[item];
    const QueryTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(p.call, tile.b);
    const Blocks blocks = blocks_of<kN>(tile);
    arrive_expecting(shared.query_full, Shape::kQueryBytes);
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
#pragma unroll
      for (int c = 0; c < kTiles; ++c) {
        copy_box(queries + (group * kTiles + c) * 64 * 128, query_map,
                 shared.query_full, c * 64,
                 sequence.first_query + tile.first_query + group * 64, work.h,
                 sequence.batch);
      }
    }
    const int kv_head = work.h / p.call.group;
    for (int n = blocks.begin; n < blocks.end; ++n) {
      const int row = sequence.first_key + tile.block_origin + n * kN;
      const int stage = ring.stage;
      wait(shared.key_empty[stage], ring.round ^ 1);
      arrive_expecting(shared.key_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < kTiles; ++c) {
        copy_box(keys + stage * Shape::kKeyBytes + c * kN * 128, key_map,
                 shared.key_full[stage], c * 64, row, kv_head, sequence.batch);
      }
      wait(shared.value_empty[stage], ring.round ^ 1);
      arrive_expecting(shared.value_full[stage], Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < kTiles; ++c) {
        copy_box(values + stage * Shape::kKeyBytes + c * kN * 128, value_map,
                 shared.value_full[stage], c * 64, row, kv_head,
                 sequence.batch);
      }
      ring.next();
    }
    query_round ^= 1;
    if constexpr (kSecondPass) {
      item += static_cast<int>(gridDim.x);
    } else {
      item = static_cast<int>(gridDim.x) + atomicAdd(p.next_item, 1);
    }
  }
}

// One thread's two rows of a tile: 8 apart.
struct RowState {
  int i[2];
  KeyRange keys[2];
  float max[2];  // of the scores so far, without `scale` in a plain kernel
  float sum[2];
};

// One bit an element of a thread's scores: whether intervals and dense masks
// allow it.
template <int kN>
__device__ inline std::uint64_t allowed_bits(const Call& call,
                                             const RowState& rows, int b, int h,
                                             int first_key) {
  static_assert(kN <= 128);
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  std::uint64_t bits = 0;
  for (int n = 0; n < kN / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = first_key + 8 * n + column + e % 2;
      const KeyRange keys = rows.keys[e / 2];
      const bool allowed = j >= keys.begin && j < keys.end &&
                           masks_allow(call, b, h, rows.i[e / 2], j);
      bits |= std::uint64_t{allowed} << (4 * n + e);
    }
  }
  return bits;
}

// Scale and terms of the scores, in a kernel that has them; then the masks.
template <int kN, bool kTerms>
__device__ inline void finish_scores(const Call& call, const RowState& rows,
                                     int b, int h, int first_key, bool partial,
                                     float (&scores)[kN / 2]) {
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  if constexpr (kTerms) {
    const std::uint64_t allowed =
        partial || call.dense_masks != 0
            ? allowed_bits<kN>(call, rows, b, h, first_key)
            : ~std::uint64_t{0};
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        // Where nobody may attend there may be no bias to read.
        float tanh;
        scores[4 * n + e] = (allowed >> (4 * n + e)) % 2 != 0
                                ? score_of(call, b, h, rows.i[e / 2],
                                           first_key + 8 * n + column + e % 2,
                                           scores[4 * n + e], tanh)
                                : minus_infinity();
      }
    }
  } else if (partial) {
    const int begin[2] = {rows.keys[0].begin - first_key - column,
                          rows.keys[1].begin - first_key - column};
    const int end[2] = {rows.keys[0].end - first_key - column,
                        rows.keys[1].end - first_key - column};
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int j = 8 * n + e % 2;
        if (j < begin[e / 2] || j >= end[e / 2]) {
          scores[4 * n + e] = minus_infinity();
        }
      }
    }
  }
}

// Scores become weights relative to the new maximum; `rescale` is what the
// sums so far are multiplied by.
template <int kN>
__device__ inline void soften(float scale, RowState& rows,
                              float (&scores)[kN / 2], float (&rescale)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float max = scores[2 * r];
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) {
      max = fmaxf(max, fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
    }
    max = fmaxf(rows.max[r], quad_max(max));
    // A row without a key so far: (-inf) - (-inf) would be NaN.
    const float origin = max == minus_infinity() ? 0 : max;
    // Exactly 1 where the maximum stays: masked keys change no bit.
    rescale[r] = exp2_of((rows.max[r] - origin) * scale);
    rows.max[r] = max;
    const float shift = origin * scale;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& p = scores[4 * n + 2 * r + c];
        p = exp2_of(fmaf(p, scale, -shift));
        sum += p;
      }
    }
    rows.sum[r] = fmaf(rows.sum[r], rescale[r], sum);
  }
}

// Some weights become 0, the others grow.
template <int kN>
__device__ inline void drop(const Call& call, const RowState& rows, int b,
                            int h, int first_key, float (&weights)[kN / 2]) {
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  std::uint64_t kept = 0;
  for (int n = 0; n < kN / 8; ++n) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      kept |= std::uint64_t{keeps_pair(call, rows.keys[r], b, h, rows.i[r],
                                       first_key + 8 * n + column)}
              << (4 * n + 2 * r);
    }
  }
#pragma unroll
  for (int n = 0; n < kN / 2; ++n) {
    weights[n] = (kept >> n) % 2 != 0 ? weights[n] * call.dropout_factor : 0;
  }
}

// What clear_not_finite() took away is given to the rows that attend to it.
template <class Shape, class T>
__device__ inline void add_not_finite(const ForwardParams<T>& p,
                                      const DeviceTensor<const T, 4>& value,
                                      const Sequence& sequence,
                                      const RowState& rows, int h,
                                      int first_key,
                                      float (&context)[Shape::kD / 2]) {
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  const int last = min(first_key + Shape::kN, sequence.Lkv);
  for (int j = first_key; j < last; ++j) {
    const T* row = value.data + sequence.batch * value.strides[0] +
                   (sequence.first_key + j) * value.strides[1] +
                   h / p.call.group * value.strides[2];
    bool sees[2];
    for (int r = 0; r < 2; ++r) {
      sees[r] = may_attend(p.call, rows.keys[r], sequence.b, h, rows.i[r], j);
    }
#pragma unroll
    for (int n = 0; n < Shape::kD / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int d = 8 * n + column + e % 2;
        if (d < p.call.Dv && sees[e / 2]) {
          const float v = widened(row[d * value.strides[3]]);
          context[4 * n + e] += isfinite(v) ? 0 : v;
        }
      }
    }
  }
}

template <class Shape, class T>
__device__ inline void store_rows(const ForwardParams<T>& p,
                                  const Sequence& sequence,
                                  const RowState& rows, int h, float scale,
                                  const float (&context)[Shape::kD / 2]) {
  constexpr float kLn2 = 0.693147180559945309417f;
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  const Call& call = p.call;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i = rows.i[r];
    if (i >= sequence.Lq) {
      continue;
    }
    const float sum = rows.sum[r];
    const bool empty = sum == 0;
    const float max = empty ? minus_infinity() : rows.max[r] * scale;
    const std::int64_t row = sequence.first_query + i;
    if (column == 0) {
      if (p.to.lse.data != nullptr) {
        p.to.lse.data[sequence.batch * p.to.lse.strides[0] +
                      h * p.to.lse.strides[1] + row * p.to.lse.strides[2]] =
            empty ? minus_infinity() : kLn2 * (max + log2f(sum));
      }
      if (p.to.softmax_rows.data != nullptr) {
        const auto& s = p.to.softmax_rows.strides;
        float* to = p.to.softmax_rows.data + sequence.batch * s[0] + h * s[1] +
                    row * s[2];
        to[0] = max;
        to[s[3]] = sum;
      }
    }
    const auto& s = p.to.output.strides;
    T* to = p.to.output.data + sequence.batch * s[0] + row * s[1] + h * s[2];
    // An empty row's context is 0; times NaN it is NaN.
    const float nothing =
        call.empty_rows == EmptyRow::nan ? __int_as_float(0x7fc00000) : 0;
    store_row<Shape::kD>(to, s[3], call.Dv, context, r,
                         empty ? nothing : 1 / sum);
  }
}

// The computing warpgroups' turns: each waits for the one before it. The second
// pass has none: there they wait for each other anyway.
template <int kGroups, bool kSecondPass>
__device__ inline void await_turn(int group) {
  if constexpr (!kSecondPass) {
    named_sync(1 + group, 256);
  }
}
template <int kGroups, bool kSecondPass>
__device__ inline void pass_turn(int group) {
  if constexpr (!kSecondPass) {
    named_arrive(1 + (group + 1) % kGroups, 256);
  }
}

template <class Shape, bool kTerms, bool kSecondPass, class T>
__device__ void compute_tiles(const ForwardParams<T>& p,
                              const DeviceTensor<const T, 4>& value,
                              ForwardShared<Shape>& shared,
                              unsigned char* queries, unsigned char* keys,
                              unsigned char* values) {
  constexpr int kN = Shape::kN;
  constexpr int kD = Shape::kD;
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Call& call = p.call;
  // Terms are added to scores that are scaled already.
  const float scale = kTerms ? 1 : call.scale;
  const std::uint32_t query_address =
      shared_address(queries) + group * Shape::kColumnTiles * 64 * 128;
  Ring<Shape::kStages> key_ring;
  Ring<Shape::kStages> value_ring;
  int query_round = 0;

  float scores[kN / 2];
  std::uint32_t weights[kN / 16][4];
  float context[kD / 2];

  const auto start_scores = [&] {
    const std::uint32_t key_address =
        shared_address(keys) + key_ring.stage * Shape::kKeyBytes;
#pragma unroll
    for (int k = 0; k < kD / 16; ++k) {
      const std::uint32_t within = k % 4 * 32;
      Wgmma<T, kN>::template ss<0, 0>(
          scores, row_operand(query_address + k / 4 * 64 * 128 + within),
          row_operand(key_address + k / 4 * kN * 128 + within), k != 0);
    }
    wgmma_commit();
  };
  const auto start_context = [&] {
    const std::uint32_t value_address =
        shared_address(values) + value_ring.stage * Shape::kKeyBytes;
#pragma unroll
    for (int k = 0; k < kN / 16; ++k) {
      Wgmma<T, kD>::template rs<1>(
          context, weights[k], column_operand(value_address + k * 16 * 128, kN),
          1);
    }
    wgmma_commit();
  };
  const auto release = [&](Barrier& barrier) {
    if (lane == 0) {
      arrive(barrier);
    }
  };

  if (group == Shape::kGroups - 1) {
    pass_turn<Shape::kGroups, kSecondPass>(
        group);  // the first turn is group 0's
  }
  while (true) {
    wait(shared.query_full, query_round);
    const int item = shared.item;
    if (item < 0) {
      break;
    }
    const WorkItem work = p.work[item];
    const QueryTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(call, tile.b);
    const Blocks blocks = blocks_of<kN>(tile);
    RowState rows;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int i =
          tile.first_query + group * 64 + warp * 16 + lane / 4 + 8 * r;
      rows.i[r] = i;
      rows.keys[r] =
          i < sequence.Lq ? keys_of(call, sequence, i) : KeyRange{0, 0};
      rows.max[r] = minus_infinity();
      rows.sum[r] = 0;
    }
#pragma unroll
    for (int n = 0; n < kD / 2; ++n) {
      context[n] = 0;
    }
    float rescale[2];
    const auto first_key = [&](int n) { return tile.block_origin + n * kN; };
    const auto soften_block = [&](int n) {
      const int first = first_key(n);
      // Terms are read for queries that are there only.
      const bool partial = first < tile.full_begin ||
                           first + kN > tile.full_end ||
                           (kTerms && tile.queries < Shape::kM);
      finish_scores<kN, kTerms>(call, rows, tile.b, work.h, first, partial,
                                scores);
      soften<kN>(scale, rows, scores, rescale);
      if constexpr (kTerms) {
        if (call.dropping) {
          drop<kN>(call, rows, tile.b, work.h, first, scores);
        }
      }
    };
    const auto pack_weights = [&] { pack<T, kN>(scores, weights); };
    const auto await_values = [&] {
      wait(shared.value_full[value_ring.stage], value_ring.round);
      if constexpr (kSecondPass) {
        named_sync(8, 128 * Shape::kGroups);
        clear_not_finite<T>(values + value_ring.stage * Shape::kKeyBytes,
                            Shape::kKeyBytes, 128 * Shape::kGroups);
        fence_shared_writes();
        named_sync(8, 128 * Shape::kGroups);
      }
    };
    const auto values_done = [&](int n) {
      wgmma_wait<0>();
      hold(context);
      if constexpr (kSecondPass) {
        add_not_finite<Shape>(p, value, sequence, rows, work.h, first_key(n),
                              context);
      }
      release(shared.value_empty[value_ring.stage]);
      value_ring.next();
    };

    if (blocks.begin < blocks.end) {
      wait(shared.key_full[key_ring.stage], key_ring.round);
      await_turn<Shape::kGroups, kSecondPass>(group);
      hold(scores);
      wgmma_fence();
      start_scores();
      pass_turn<Shape::kGroups, kSecondPass>(group);
      wgmma_wait<0>();
      hold(scores);
      release(shared.key_empty[key_ring.stage]);
      key_ring.next();
      soften_block(blocks.begin);
      pack_weights();
      for (int n = blocks.begin + 1; n < blocks.end; ++n) {
        wait(shared.key_full[key_ring.stage], key_ring.round);
        await_turn<Shape::kGroups, kSecondPass>(group);
        hold(scores);
        hold(context);
        wgmma_fence();
        start_scores();
        await_values();
        start_context();
        pass_turn<Shape::kGroups, kSecondPass>(group);
        wgmma_wait<1>();
        hold(scores);
        release(shared.key_empty[key_ring.stage]);
        key_ring.next();
        soften_block(n);
        values_done(n - 1);
#pragma unroll
        for (int e = 0; e < kD / 2; ++e) {
          context[e] *= rescale[e / 2 % 2];
        }
        pack_weights();
      }
      arrive(shared.query_empty);
      await_values();
      hold(context);
      wgmma_fence();
      start_context();
      values_done(blocks.end - 1);
    } else {
      arrive(shared.query_empty);
    }
    query_round ^= 1;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows.sum[r] = quad_sum(rows.sum[r]);
    }
    if constexpr (!kSecondPass) {
      if (p.suspect != nullptr) {
        float poison = 0;
#pragma unroll
        for (int e = 0; e < kD / 2; ++e) {
          poison += rows.i[e / 2 % 2] < sequence.Lq ? context[e] * 0 : 0;
        }
        if (poison != 0) {  // NaN
          p.suspect[0] = 1;
          p.suspect[1 + item] = 1;
        }
      }
    }
    store_rows<Shape>(p, sequence, rows, work.h, scale, context);
  }
  if (group == 0) {
    await_turn<Shape::kGroups, kSecondPass>(
        group);  // the one that was passed at the end
  }
}

template <class Shape, bool kTerms, bool kSecondPass, class T>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    forward_kernel(const __grid_constant__ CUtensorMap query_map,
                   const __grid_constant__ CUtensorMap key_map,
                   const __grid_constant__ CUtensorMap value_map,
                   const __grid_constant__ DeviceTensor<const T, 4> value,
                   const __grid_constant__ ForwardParams<T> p) {
  if (kSecondPass && p.suspect[0] == 0) {
    return;
  }
  extern __shared__ unsigned char memory[];
  unsigned char* queries =
      memory + (1024 - shared_address(memory) % 1024) % 1024;
  unsigned char* keys = queries + Shape::kQueryBytes;
  unsigned char* values = keys + Shape::kStages * Shape::kKeyBytes;
  auto& shared = *reinterpret_cast<ForwardShared<Shape>*>(
      values + Shape::kStages * Shape::kKeyBytes);
  if (threadIdx.x == 0) {
    init(shared.query_full, 1);
    init(shared.query_empty, 128 * Shape::kGroups);
    for (int s = 0; s < Shape::kStages; ++s) {
      init(shared.key_full[s], 1);
      init(shared.value_full[s], 1);
      init(shared.key_empty[s], 4 * Shape::kGroups);
      init(shared.value_empty[s], 4 * Shape::kGroups);
    }
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<Shape::kCopying>();
    if (threadIdx.x == 0) {
      copy_tiles<Shape, kSecondPass>(query_map, key_map, value_map, p, shared,
                                     queries, keys, values);
    }
  } else {
    take_registers<Shape::kComputing>();
    compute_tiles<Shape, kTerms, kSecondPass>(p, value, shared, queries, keys,
                                              values);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
