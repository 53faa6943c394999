// The gradients of the queries. As in the forward pass a block of threads takes
// one tile of queries after another, each computing warpgroup 64 of them, while
// keys and values pass by:
//
//   S = Q K^T    dP = dO V^T    dQ += dS K
//
// Blocks of keys are those of the sequence, in order.
//
// Source: Dao 2023, "FlashAttention-2", arXiv:2307.08691, algorithm 2.
#pragma once

#include <cstdint>

#include "cuda/call.h"
#include "cuda/gradient_pairs.cuh"
#include "cuda/pipeline.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
struct QueryGradientParams {
  Call call;
  RowStatistics statistics;
  DeviceTensor<T, 4> d_query;  // batch, row, head, feature
  float scale;
  const QueryTile* tiles;
  const WorkItem* work;
  int work_items;
  int* next_item;
};

template <int kD_, int kN_, int kStages_>
struct QueryGradientShape {
  static constexpr int kD = kD_;
  static constexpr int kN = kN_;
  static constexpr int kStages = kStages_;
  static constexpr int kGroups = 2;
  static constexpr int kM = 64 * kGroups;
  static constexpr int kColumnTiles = (kD + 63) / 64;
  static constexpr int kThreads = 128 * (kGroups + 1);
  static constexpr int kQueryBytes = kM * kColumnTiles * 128;
  static constexpr int kKeyBytes = kN * kColumnTiles * 128;
  static constexpr int kSharedBytes =
      1024 + 2 * kQueryBytes + kStages * 2 * kKeyBytes + 256;
};

template <class Shape>
struct QueryGradientShared {
  Barrier queries_full, queries_empty;
  Barrier keys_full[Shape::kStages], keys_empty[Shape::kStages];
  int item;
};

template <class Shape>
struct QueryGradientTiles {
  unsigned char* queries;
  unsigned char* d_outputs;
  unsigned char* stages;

  __device__ unsigned char* keys(int stage) const {
    return stages + stage * 2 * Shape::kKeyBytes;
  }
  __device__ unsigned char* values(int stage) const {
    return keys(stage) + Shape::kKeyBytes;
  }
};

// The first key of each block that a tile sees: from `first` in steps of kN.
struct KeySpan {
  int first;
  int end;
};
template <int kN>
__device__ inline KeySpan keys_seen(const QueryTile& tile) {
  if (tile.begin >= tile.end) {
    return {0, 0};
  }
  return {tile.block_origin + (tile.begin - tile.block_origin) / kN * kN,
          tile.end};
}

template <class Shape, class T>
__device__ void copy_keys(const CUtensorMap& query_map,
                          const CUtensorMap& key_map,
                          const CUtensorMap& value_map,
                          const CUtensorMap& d_output_map,
                          const QueryGradientParams<T>& p,
                          QueryGradientShared<Shape>& shared,
                          const QueryGradientTiles<Shape>& tiles) {
  constexpr int kN = Shape::kN;
  const Call& call = p.call;
  prefetch(query_map);
  prefetch(key_map);
  prefetch(value_map);
  prefetch(d_output_map);
  Ring<Shape::kStages> ring;
  int queries_round = 0;
  int item = static_cast<int>(blockIdx.x);
  while (true) {
    wait(shared.queries_empty, queries_round ^ 1);
    if (item >= p.work_items) {
      shared.item = -1;
      arrive(shared.queries_full);
      return;
    }
    shared.item = item;
    const WorkItem work = p.work[item];
    const QueryTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(call, tile.b);
    arrive_expecting(shared.queries_full, 2 * Shape::kQueryBytes);
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
#pragma unroll
      for (int c = 0; c < Shape::kColumnTiles; ++c) {
        const int at = (group * Shape::kColumnTiles + c) * 64 * 128;
        const int row = sequence.first_query + tile.first_query + group * 64;
        copy_box(tiles.queries + at, query_map, shared.queries_full, c * 64,
                 row, work.h, sequence.batch);
        copy_box(tiles.d_outputs + at, d_output_map, shared.queries_full,
                 c * 64, row, work.h, sequence.batch);
      }
    }
    const KeySpan keys = keys_seen<kN>(tile);
    for (int j = keys.first; j < keys.end; j += kN) {
      const int stage = ring.stage;
      Barrier& full = shared.keys_full[stage];
      wait(shared.keys_empty[stage], ring.round ^ 1);
      arrive_expecting(full, 2 * Shape::kKeyBytes);
#pragma unroll
      for (int c = 0; c < Shape::kColumnTiles; ++c) {
        const int row = sequence.first_key + j;
        copy_box(tiles.keys(stage) + c * kN * 128, key_map, full, c * 64, row,
                 work.h / call.group, sequence.batch);
        copy_box(tiles.values(stage) + c * kN * 128, value_map, full, c * 64,
                 row, work.h / call.group, sequence.batch);
      }
      ring.next();
    }
    queries_round ^= 1;
    item = static_cast<int>(gridDim.x) + atomicAdd(p.next_item, 1);
  }
}

template <class Shape, bool kTerms, class T>
__device__ void compute_query_gradients(
    const QueryGradientParams<T>& p, QueryGradientShared<Shape>& shared,
    const QueryGradientTiles<Shape>& tiles) {
  constexpr int kN = Shape::kN;
  constexpr int kD = Shape::kD;
  constexpr int kCount = kN / 2;  // elements of a thread
  constexpr int kComputing = 128 * Shape::kGroups;
  const int group = static_cast<int>(threadIdx.x) / 128 - 1;
  const Call& call = p.call;
  const std::uint32_t own =
      static_cast<std::uint32_t>(group * Shape::kColumnTiles * 64 * 128);
  const std::uint32_t query_address = shared_address(tiles.queries) + own;
  const std::uint32_t d_output_address = shared_address(tiles.d_outputs) + own;
  Ring<Shape::kStages> ring;
  int queries_round = 0;

  float scores[kCount];
  float gradients[kCount];
  float slope[kTerms ? kCount : 1];
  std::uint32_t d_scores[kN / 16][4];
  float d_query[kD / 2];

  // 64 queries by kN keys, summed over the features.
  const auto start_product = [&](float(&to)[kCount], std::uint32_t left,
                                 const unsigned char* right) {
    const std::uint32_t right_address = shared_address(right);
#pragma unroll
    for (int k = 0; k < kD / 16; ++k) {
      const std::uint32_t within = k % 4 * 32;
      Wgmma<T, kN>::template ss<0, 0>(
          to, row_operand(left + k / 4 * 64 * 128 + within),
          row_operand(right_address + k / 4 * kN * 128 + within), k != 0);
    }
    wgmma_commit();
  };
  const auto release = [&](Barrier& barrier) {
    if (threadIdx.x % 32 == 0) {
      arrive(barrier);
    }
  };

  while (true) {
    wait(shared.queries_full, queries_round);
    const int item = shared.item;
    if (item < 0) {
      return;
    }
    const WorkItem work = p.work[item];
    const QueryTile tile = p.tiles[work.tile];
    const Sequence sequence = sequence_of(call, tile.b);
    const int first_query = tile.first_query + group * 64 + own_row();
    float row_lse[2];
    float row_delta[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t at =
          p.statistics.at(call, tile.b, work.h, first_query + 8 * r);
      row_lse[r] = p.statistics.lse[at];
      row_delta[r] = p.statistics.delta[at];
    }
    const auto lse = [&](int e) { return row_lse[e / 2 % 2]; };
    const auto delta = [&](int e) { return row_delta[e / 2 % 2]; };
#pragma unroll
    for (float& x : d_query) {
      x = 0;
    }
    const KeySpan keys = keys_seen<kN>(tile);
    for (int j = keys.first; j < keys.end; j += kN) {
      const int stage = ring.stage;
      // Terms are read for queries that are there only.
      const bool partial = j < tile.full_begin || j + kN > tile.full_end ||
                           (kTerms && tile.queries < Shape::kM);
      wait(shared.keys_full[stage], ring.round);
      ring.next();
      if (partial || (kTerms && has_dense_rules(call))) {
        named_sync(2, kComputing);
        clear_not_finite<T>(tiles.keys(stage), Shape::kKeyBytes, kComputing);
        fence_shared_writes();
        named_sync(3, kComputing);
      }
      const auto place = [&](int e) {
        return Place{first_query + e / 2 % 2 * 8,
                     j + e / 4 * 8 + own_column() + e % 2};
      };
      hold(scores);
      hold(gradients);
      hold(d_query);
      wgmma_fence();
      start_product(scores, query_address, tiles.keys(stage));
      start_product(gradients, d_output_address, tiles.values(stage));
      const PairBits bits =
          pair_bits<kTerms, kCount>(call, sequence, work.h, partial, place);
      wgmma_wait<1>();
      hold(scores);
      weights_again<kTerms>(call, tile.b, work.h, bits, place, lse, scores,
                            slope);
      wgmma_wait<0>();
      hold(gradients);
      score_gradients<kTerms>(call, bits, scores, delta, slope, gradients);
      pack<T, kN>(gradients, d_scores);
      wgmma_fence();
      const std::uint32_t right_address = shared_address(tiles.keys(stage));
#pragma unroll
      for (int k = 0; k < kN / 16; ++k) {
        Wgmma<T, kD>::template rs<1>(
            d_query, d_scores[k],
            column_operand(right_address + k * 16 * 128, kN), 1);
      }
      wgmma_commit();
      wgmma_wait<0>();
      hold(d_query);
      release(shared.keys_empty[stage]);
    }
    arrive(shared.queries_empty);
    queries_round ^= 1;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int i = first_query + 8 * r;
      if (i < sequence.Lq) {
        const auto& s = p.d_query.strides;
        T* to = p.d_query.data + sequence.batch * s[0] +
                (sequence.first_query + i) * s[1] + work.h * s[2];
        store_row<kD>(to, s[3], call.D, d_query, r, p.scale);
      }
    }
  }
}

template <class Shape, bool kTerms, class T>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    query_gradient_kernel(const __grid_constant__ CUtensorMap query_map,
                          const __grid_constant__ CUtensorMap key_map,
                          const __grid_constant__ CUtensorMap value_map,
                          const __grid_constant__ CUtensorMap d_output_map,
                          const __grid_constant__ QueryGradientParams<T> p) {
  extern __shared__ unsigned char memory[];
  QueryGradientTiles<Shape> tiles;
  tiles.queries = memory + (1024 - shared_address(memory) % 1024) % 1024;
  tiles.d_outputs = tiles.queries + Shape::kQueryBytes;
  tiles.stages = tiles.d_outputs + Shape::kQueryBytes;
  auto& shared = *reinterpret_cast<QueryGradientShared<Shape>*>(
      tiles.keys(Shape::kStages));
  if (threadIdx.x == 0) {
    init(shared.queries_full, 1);
    init(shared.queries_empty, 128 * Shape::kGroups);
    for (int s = 0; s < Shape::kStages; ++s) {
      init(shared.keys_full[s], 1);
      init(shared.keys_empty[s], 4 * Shape::kGroups);
    }
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<24>();
    if (threadIdx.x == 0) {
      copy_keys<Shape>(query_map, key_map, value_map, d_output_map, p, shared,
                       tiles);
    }
  } else {
    take_registers<240>();
    compute_query_gradients<Shape, kTerms>(p, shared, tiles);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
