// The gradients of keys and values. A block of threads takes one tile of keys
// of one key head after another; each warpgroup but the copying one keeps the
// gradients of 64 keys in registers, while the queries that see them, of every
// query head of the group, pass by in blocks of kM:
//
//   S^T  = K Q^T       dP^T = V dO^T         keys in the rows
//   dV  += P^T dO      dK  += dS^T Q
//
// Heads, and in them blocks of queries from query 0 on, are added in order, so
// the bits depend neither on the batch nor on who computes.
//
// Source: Dao 2023, "FlashAttention-2", arXiv:2307.08691, algorithm 2, as two
// passes: this one and query_gradient.cuh, so that no sum crosses blocks of
// threads.
#pragma once

#include <cstdint>

#include "cuda/call.h"
#include "cuda/gradient_pairs.cuh"
#include "cuda/pipeline.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
struct KeyGradientParams {
  Call call;
  RowStatistics statistics;
  DeviceTensor<const T, 4> d_output;  // batch, row, head, feature
  DeviceTensor<T, 4> d_key;           // no data: not wanted
  DeviceTensor<T, 4> d_value;
  float scale;
  const KeyTile* tiles;
  const WorkItem* work;
  int work_items;
  int* next_item;
};

// kKeys and kValues: which of the two gradients; large heads take one at a
// time, for want of registers.
template <int kD_, int kM_, int kStages_, bool kKeys_, bool kValues_>
struct KeyGradientShape {
  static constexpr int kD = kD_;
  static constexpr int kM = kM_;
  static constexpr int kStages = kStages_;
  static constexpr bool kKeys = kKeys_;
  static constexpr bool kValues = kValues_;
  static constexpr int kGroups = 2;
  static constexpr int kN = 64 * kGroups;
  static constexpr int kColumnTiles = (kD + 63) / 64;
  static constexpr int kThreads = 128 * (kGroups + 1);
  static constexpr int kKeyBytes = kN * kColumnTiles * 128;
  static constexpr int kQueryBytes = kM * kColumnTiles * 128;
  static constexpr int kStatisticsBytes = kM * sizeof(float);
  static constexpr int kStageBytes = 2 * kQueryBytes + 2 * kStatisticsBytes;
  static constexpr int kSharedBytes =
      1024 + 2 * kKeyBytes + kStages * (2 * kQueryBytes + 1024) + 256;
};

template <class Shape>
struct KeyGradientShared {
  Barrier keys_full, keys_empty;
  Barrier queries_full[Shape::kStages], queries_empty[Shape::kStages];
  int item;
};

// What lies where in shared memory.
template <class Shape>
struct KeyGradientTiles {
  unsigned char* keys;
  unsigned char* values;
  unsigned char* stages;

  __device__ unsigned char* queries(int stage) const {
    return stages + stage * 2 * Shape::kQueryBytes;
  }
  __device__ unsigned char* d_outputs(int stage) const {
    return queries(stage) + Shape::kQueryBytes;
  }
  __device__ unsigned char* statistics(int stage) const {
    return stages + Shape::kStages * 2 * Shape::kQueryBytes + stage * 1024;
  }
};

template <class Shape, class T>
__device__ void copy_queries(const CUtensorMap& query_map,
                             const CUtensorMap& key_map,
                             const CUtensorMap& value_map,
                             const CUtensorMap& d_output_map,
                             const KeyGradientParams<T>& p,
                             KeyGradientShared<Shape>& shared,
                             const KeyGradientTiles<Shape>& tiles) {
  constexpr int kM = Shape::kM;
  const Call& call = p.call;
  prefetch(query_map);
  prefetch(key_map);
  prefetch(value_map);
  prefetch(d_output_map);
  Ring<Shape::kStages> ring;
  int keys_round = 0;
  int item = static_cast<int>(blockIdx.x);
  while (true) {
    wait(shared.keys_empty, keys_round ^ 1);
    if (item >= p.work_items) {
      shared.item = -1;
      arrive(shared.keys_full);
      return;
    }
    shared.item = item;
    const WorkItem work = p.work[item];
    const KeyTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(call, tile.b);
    arrive_expecting(shared.keys_full, 2 * Shape::kKeyBytes);
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
#pragma unroll
      for (int c = 0; c < Shape::kColumnTiles; ++c) {
        const int at = (group * Shape::kColumnTiles + c) * 64 * 128;
        const int row = sequence.first_key + tile.first_key + group * 64;
        copy_box(tiles.keys + at, key_map, shared.keys_full, c * 64, row,
                 work.h, sequence.batch);
        copy_box(tiles.values + at, value_map, shared.keys_full, c * 64, row,
                 work.h, sequence.batch);
      }
    }
    for (int h = work.h * call.group; h < (work.h + 1) * call.group; ++h) {
      for (int i = tile.begin; i < tile.end; i += kM) {
        const int stage = ring.stage;
        Barrier& full = shared.queries_full[stage];
        wait(shared.queries_empty[stage], ring.round ^ 1);
        arrive_expecting(full, Shape::kStageBytes);
#pragma unroll
        for (int c = 0; c < Shape::kColumnTiles; ++c) {
          const int row = sequence.first_query + i;
          copy_box(tiles.queries(stage) + c * kM * 128, query_map, full, c * 64,
                   row, h, sequence.batch);
          copy_box(tiles.d_outputs(stage) + c * kM * 128, d_output_map, full,
                   c * 64, row, h, sequence.batch);
        }
        const std::int64_t at = p.statistics.at(call, tile.b, h, i);
        copy_bytes(tiles.statistics(stage), p.statistics.lse + at, full,
                   Shape::kStatisticsBytes);
        copy_bytes(tiles.statistics(stage) + Shape::kStatisticsBytes,
                   p.statistics.delta + at, full, Shape::kStatisticsBytes);
        ring.next();
      }
    }
    keys_round ^= 1;
    item = static_cast<int>(gridDim.x) + atomicAdd(p.next_item, 1);
  }
}

// What clear_not_finite() took from dO is given to the keys that are attended.
template <class Shape, bool kTerms, class T>
__device__ inline void add_not_finite(const KeyGradientParams<T>& p,
                                      const Sequence& sequence, int h,
                                      int first_query, int first_key,
                                      float (&d_value)[Shape::kD / 2]) {
  const auto& s = p.d_output.strides;
  const int last = min(first_query + Shape::kM, sequence.Lq);
  for (int i = first_query; i < last; ++i) {
    const T* row = p.d_output.data + sequence.batch * s[0] +
                   (sequence.first_query + i) * s[1] + h * s[2];
    const KeyRange keys = keys_of(p.call, sequence, i);
    bool seen[2];
    for (int r = 0; r < 2; ++r) {
      const int j = first_key + 8 * r;
      seen[r] = j >= keys.begin && j < keys.end &&
                (!kTerms || dense_allows(p.call, sequence.b, h, i, j));
    }
#pragma unroll
    for (int e = 0; e < Shape::kD / 2; ++e) {
      const int d = e / 4 * 8 + own_column() + e % 2;
      if (d < p.call.Dv && seen[e / 2 % 2]) {
        const float v = widened(row[d * s[3]]);
        d_value[e] += isfinite(v) ? 0 : v;
      }
    }
  }
}

// P as it weighed the values: dropped; and a row without a key whose output is
// the mean of all values gives each of them its share.
template <int kCount, class PlaceOf, class LseOf>
__device__ inline void weigh_values(const Call& call, const Sequence& sequence,
                                    const PairBits& bits, const PlaceOf& place,
                                    const LseOf& lse,
                                    float (&weights)[kCount]) {
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    const Place at = place(e);
    if (call.empty_rows == EmptyRow::uniform && at.i < sequence.Lq &&
        at.j < sequence.Lkv && lse(e) == -minus_infinity()) {
      weights[e] = 1 / static_cast<float>(sequence.Lkv);
    }
    if (call.dropping) {
      weights[e] = has(bits.kept, e) ? weights[e] * call.dropout_factor : 0;
    }
  }
}

// 64 keys by the features, summed over kM queries.
template <int kM, int kD, class T>
__device__ inline void start_sum(float (&to)[kD / 2],
                                 const std::uint32_t (&left)[kM / 16][4],
                                 const unsigned char* right) {
  const std::uint32_t right_address = shared_address(right);
#pragma unroll
  for (int k = 0; k < kM / 16; ++k) {
    Wgmma<T, kD>::template rs<1>(
        to, left[k], column_operand(right_address + k * 16 * 128, kM), 1);
  }
  wgmma_commit();
}

template <class Shape, bool kTerms, class T>
__device__ void compute_key_gradients(const KeyGradientParams<T>& p,
                                      KeyGradientShared<Shape>& shared,
                                      const KeyGradientTiles<Shape>& tiles) {
  constexpr int kM = Shape::kM;
  constexpr int kD = Shape::kD;
  constexpr int kCount = kM / 2;  // elements of a thread
  constexpr int kComputing = 128 * Shape::kGroups;
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  const Call& call = p.call;
  const std::uint32_t own =
      static_cast<std::uint32_t>(group * Shape::kColumnTiles * 64 * 128);
  const std::uint32_t key_address = shared_address(tiles.keys) + own;
  const std::uint32_t value_address = shared_address(tiles.values) + own;
  Ring<Shape::kStages> ring;
  int keys_round = 0;

  float scores[kCount];
  float gradients[kCount];
  float slope[kTerms ? kCount : 1];
  std::uint32_t weights[kM / 16][4];
  std::uint32_t d_scores[kM / 16][4];
  float d_key[Shape::kKeys ? kD / 2 : 1];
  float d_value[Shape::kValues ? kD / 2 : 1];

  // 64 keys by kM queries, summed over the features.
  const auto start_product = [&](float(&to)[kCount], std::uint32_t left,
                                 const unsigned char* right) {
    const std::uint32_t right_address = shared_address(right);
#pragma unroll
    for (int k = 0; k < kD / 16; ++k) {
      const std::uint32_t within = k % 4 * 32;
      Wgmma<T, kM>::template ss<0, 0>(
          to, row_operand(left + k / 4 * 64 * 128 + within),
          row_operand(right_address + k / 4 * kM * 128 + within), k != 0);
    }
    wgmma_commit();
  };
  while (true) {
    wait(shared.keys_full, keys_round);
    const int item = shared.item;
    if (item < 0) {
      return;
    }
    const WorkItem work = p.work[item];
    const KeyTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(call, tile.b);
    const int first_key = tile.first_key + group * 64 + own_row();
#pragma unroll
    for (float& x : d_key) {
      x = 0;
    }
#pragma unroll
    for (float& x : d_value) {
      x = 0;
    }
    for (int h = work.h * call.group; h < (work.h + 1) * call.group; ++h) {
      for (int i = tile.begin; i < tile.end; i += kM) {
        const int stage = ring.stage;
        const bool partial = i < tile.full_begin || i + kM > tile.full_end;
        wait(shared.queries_full[stage], ring.round);
        ring.next();
        bool not_finite = false;
        if (partial || (kTerms && has_dense_rules(call))) {
          named_sync(2, kComputing);
          clear_not_finite<T>(tiles.queries(stage), Shape::kQueryBytes,
                              kComputing);
          not_finite = clear_not_finite<T>(tiles.d_outputs(stage),
                                           Shape::kQueryBytes, kComputing);
          fence_shared_writes();
          not_finite = any_of(not_finite, 3, kComputing);
        }
        const auto place = [&](int e) {
          return Place{i + e / 4 * 8 + own_column() + e % 2,
                       first_key + e % 4 / 2 * 8};
        };
        // Two columns side by side are loaded at once.
        const auto of_column = [&](const unsigned char* from, int e) {
          const float2 pair = reinterpret_cast<const float2*>(
              from)[e / 4 * 4 + own_column() / 2];
          return e % 2 == 0 ? pair.x : pair.y;
        };
        const auto lse = [&](int e) {
          return of_column(tiles.statistics(stage), e);
        };
        const auto delta = [&](int e) {
          return of_column(tiles.statistics(stage) + Shape::kStatisticsBytes,
                           e);
        };

        hold(scores);
        hold(gradients);
        hold(d_key);
        hold(d_value);
        wgmma_fence();
        start_product(scores, key_address, tiles.queries(stage));
        if constexpr (Shape::kKeys) {
          start_product(gradients, value_address, tiles.d_outputs(stage));
        }
        const PairBits bits =
            pair_bits<kTerms, kCount>(call, sequence, h, partial, place);
        wgmma_wait<Shape::kKeys ? 1 : 0>();
        hold(scores);
        weights_again<kTerms>(call, tile.b, h, bits, place, lse, scores, slope);
        if constexpr (Shape::kKeys) {
          wgmma_wait<0>();
          hold(gradients);
          score_gradients<kTerms>(call, bits, scores, delta, slope, gradients);
          pack<T, kM>(gradients, d_scores);
        }
        if constexpr (Shape::kValues) {
          if constexpr (kTerms) {
            weigh_values(call, sequence, bits, place, lse, scores);
          }
          pack<T, kM>(scores, weights);
        }
        wgmma_fence();
        if constexpr (Shape::kValues) {
          start_sum<kM, kD, T>(d_value, weights, tiles.d_outputs(stage));
        }
        if constexpr (Shape::kKeys) {
          start_sum<kM, kD, T>(d_key, d_scores, tiles.queries(stage));
        }
        wgmma_wait<0>();
        hold(d_key);
        hold(d_value);
        arrive(shared.queries_empty[stage]);
        if constexpr (Shape::kValues) {
          if (not_finite) {
            add_not_finite<Shape, kTerms>(p, sequence, h, i, first_key,
                                          d_value);
          }
        }
      }
    }
    arrive(shared.keys_empty);
    keys_round ^= 1;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int j = first_key + 8 * r;
      if (j < sequence.Lkv) {
        const std::int64_t row = sequence.first_key + j;
        const auto to = [&](const DeviceTensor<T, 4>& tensor) {
          return tensor.data + sequence.batch * tensor.strides[0] +
                 row * tensor.strides[1] + work.h * tensor.strides[2];
        };
        if constexpr (Shape::kKeys) {
          if (p.d_key.data != nullptr) {
            store_row<kD>(to(p.d_key), p.d_key.strides[3], call.D, d_key, r,
                          p.scale);
          }
        }
        if constexpr (Shape::kValues) {
          if (p.d_value.data != nullptr) {
            store_row<kD>(to(p.d_value), p.d_value.strides[3], call.Dv, d_value,
                          r, 1);
          }
        }
      }
    }
  }
}

template <class Shape, bool kTerms, class T>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    key_gradient_kernel(const __grid_constant__ CUtensorMap query_map,
                        const __grid_constant__ CUtensorMap key_map,
                        const __grid_constant__ CUtensorMap value_map,
                        const __grid_constant__ CUtensorMap d_output_map,
                        const __grid_constant__ KeyGradientParams<T> p) {
  extern __shared__ unsigned char memory[];
  KeyGradientTiles<Shape> tiles;
  tiles.keys = memory + (1024 - shared_address(memory) % 1024) % 1024;
  tiles.values = tiles.keys + Shape::kKeyBytes;
  tiles.stages = tiles.values + Shape::kKeyBytes;
  auto& shared = *reinterpret_cast<KeyGradientShared<Shape>*>(
      tiles.statistics(Shape::kStages));
  if (threadIdx.x == 0) {
    init(shared.keys_full, 1);
    init(shared.keys_empty, 128 * Shape::kGroups);
    for (int s = 0; s < Shape::kStages; ++s) {
      init(shared.queries_full[s], 1);
      init(shared.queries_empty[s], 128 * Shape::kGroups);
    }
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<24>();
    if (threadIdx.x == 0) {
      copy_queries<Shape>(query_map, key_map, value_map, d_output_map, p,
                          shared, tiles);
    }
  } else {
    take_registers<240>();
    compute_key_gradients<Shape, kTerms>(p, shared, tiles);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
