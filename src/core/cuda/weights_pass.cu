#include <algorithm>
#include <cstdint>

#include "cuda/fragment.cuh"
#include "cuda/launch.cuh"
#include "cuda/pair.cuh"
#include "cuda/plain_loops.cuh"
#include "cuda/weights_pass.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

constexpr int kWarps = 8;   // of a block; each takes a row at a time
constexpr int kBlock = 32;  // keys, or queries, at a time: one a lane
constexpr int kMostFeatures = 256;
constexpr int kStride = kMostFeatures + 2;  // of a row in shared memory
constexpr unsigned kAll = 0xffffffffU;
constexpr int kMapCells = static_cast<int>(kMostMapCells);

// Everything that a kernel needs.
template <class T>
struct Params {
  Call call;
  DeviceTensor<const T, 4> query;
  DeviceTensor<const T, 4> key;
  DeviceTensor<const float, 3> lse;
  AttnWeights form;
  DeviceTensor<float, 4> attn_weights;
  DeviceTensor<float, 4> rows;
  DeviceTensor<std::int64_t, 4> top_keys;
  DeviceTensor<float, 4> top_weights;
  DeviceTensor<float, 3> columns;
  DeviceTensor<float, 4> map_mean;
  DeviceTensor<float, 4> map_largest;
  DeviceTensor<const bool, 2> separators;
  int top_count;
  const int* counted_queries;
  const int* first_keys;
  int head;  // of a mean over heads; -1: every head by itself
};

// Up to kBlock rows from `first` on into shared memory, by all threads of the
// block; rows from `end` on are 0.
template <class T>
__device__ void load_rows(const DeviceTensor<const T, 4>& tensor,
                          const Sequence& sequence, std::int64_t first_row,
                          int first, int end, int head, int features,
                          T (*to)[kStride]) {
  const int thread = static_cast<int>(threadIdx.y * 32 + threadIdx.x);
  for (int n = thread; n < kBlock * features; n += kWarps * 32) {
    const int row = n / features;
    const int d = n % features;
    to[row][d] = first + row < end
                     ? row_of(tensor, sequence.batch, first_row + first + row,
                              head)[d * tensor.strides[3]]
                     : narrowed<T>(0);
  }
}

// The logarithm (base 2) of a weight; -inf where it is masked.
__device__ float log2_weight(const Call& call, const Sequence& sequence,
                             KeyRange keys, int h, int i, int j, float dot,
                             float lse) {
  constexpr float kLog2E = 1.44269504088896340736f;
  if (!may_attend(call, keys, sequence.b, h, i, j)) {
    return minus_infinity();
  }
  float tanh;
  return fmaf(-lse, kLog2E, score_of(call, sequence.b, h, i, j, dot, tanh));
}

// The eight statistics of a row, of this lane's keys so far.
struct RowSums {
  float of[kStatistics] = {};

  __device__ float& at(Statistic k) { return of[static_cast<int>(k)]; }
  __device__ void add(float w, float log2_w, std::int64_t offset, bool first,
                      bool separator) {
    constexpr float kLn2 = 0.693147180559945309417f;
    if (w != 0) {
      at(Statistic::entropy) = fmaf(-w, log2_w * kLn2, at(Statistic::entropy));
    }
    const auto distance = static_cast<float>(offset < 0 ? -offset : offset);
    at(Statistic::distance) = fmaf(w, distance, at(Statistic::distance));
    at(Statistic::largest) = fmaxf(at(Statistic::largest), w);
    at(Statistic::first) += first ? w : 0;
    at(Statistic::previous) += offset == -1 ? w : 0;
    at(Statistic::self) += offset == 0 ? w : 0;
    at(Statistic::next) += offset == 1 ? w : 0;
    at(Statistic::separator) += separator ? w : 0;
  }
  __device__ void store(float* to, std::int64_t stride, bool empty) {
    for (int k = 0; k < static_cast<int>(kStatistics); ++k) {
      const bool largest = k == static_cast<int>(Statistic::largest);
      const float x = largest ? warp_max(of[k]) : warp_sum(of[k]);
      const bool undefined = k == static_cast<int>(Statistic::entropy) ||
                             k == static_cast<int>(Statistic::distance);
      if (threadIdx.x == 0) {
        to[k * stride] = !empty      ? x
                         : undefined ? __int_as_float(0x7fc00000)
                                     : 0;
      }
    }
  }
};

// The keys of the largest weights, in order; a lane holds ranks lane and
// lane + 32. Keys come in ascending order, so among equals the first stays
// before.
struct TopKeys {
  float weight[2] = {-1, -1};
  int key[2] = {-1, -1};

  __device__ void add(float w, int j) {
    const int lane = static_cast<int>(threadIdx.x);
    const float above[2] = {__shfl_up_sync(kAll, weight[0], 1),
                            __shfl_up_sync(kAll, weight[1], 1)};
    const int above_key[2] = {__shfl_up_sync(kAll, key[0], 1),
                              __shfl_up_sync(kAll, key[1], 1)};
    const float last = __shfl_sync(kAll, weight[0], 31);
    const int last_key = __shfl_sync(kAll, key[0], 31);
    for (int part = 1; part >= 0; --part) {
      if (weight[part] >= w) {
        continue;
      }
      const bool very_first = lane == 0 && part == 0;
      const float before = lane > 0 ? above[part] : last;
      const int before_key = lane > 0 ? above_key[part] : last_key;
      const bool place = very_first || before >= w;
      weight[part] = place ? w : before;
      key[part] = place ? j : before_key;
    }
  }
  // A warp's weights of 32 keys, of the `wanted` best.
  __device__ void add_block(float w, int first_key, int wanted) {
    const int rank = wanted - 1;
    while (true) {
      const float worst = rank < 32 ? __shfl_sync(kAll, weight[0], rank)
                                    : __shfl_sync(kAll, weight[1], rank - 32);
      const unsigned better = __ballot_sync(kAll, w > 0 && w > worst);
      if (better == 0) {
        return;
      }
      const int lane = __ffs(static_cast<int>(better)) - 1;
      add(__shfl_sync(kAll, w, lane), first_key + lane);
      w = static_cast<int>(threadIdx.x) == lane ? -1 : w;
    }
  }
};

// The cell of a map along one axis.
__device__ int cell_of(int n, int length) {
  const int cells = min(length, kMapCells);
  return static_cast<int>(static_cast<std::int64_t>(n) * cells / length);
}

// A row of the map: of each warp's queries, combined at the end.
struct MapRow {
  float sum[kWarps][kMapCells];
  float largest[kWarps][kMapCells];
  int rows[kWarps];  // with a key

  __device__ void clear() {
    for (int c = static_cast<int>(threadIdx.x); c < kMapCells; c += 32) {
      sum[threadIdx.y][c] = 0;
      largest[threadIdx.y][c] = 0;
    }
    rows[threadIdx.y] = 0;
  }
  // Of the keys from first_key on, one a lane.
  __device__ void add(float w, int first_key, int Lkv) {
    const int j = first_key + static_cast<int>(threadIdx.x);
    const int own = j < Lkv ? cell_of(j, Lkv) : kMapCells;
    const int last = cell_of(min(first_key + 31, Lkv - 1), Lkv);
    for (int c = cell_of(first_key, Lkv); c <= last; ++c) {
      const float in_cell = own == c ? w : 0;
      const float total = warp_sum(in_cell);
      const float most = warp_max(in_cell);
      if (threadIdx.x == 0) {
        sum[threadIdx.y][c] += total;
        largest[threadIdx.y][c] = fmaxf(largest[threadIdx.y][c], most);
      }
    }
  }
};

// Sets what belongs to no key of the sequence, and the weights of a row without
// a key.
template <class T>
__device__ void store_weight(const Params<T>& p, const Sequence& sequence,
                             int h, int i, int j, float w, bool empty) {
  const Call& call = p.call;
  const bool inside = i < sequence.Lq && j < sequence.Lkv;
  // Dropping keeps a NaN.
  const bool undefined = empty && call.empty_rows == EmptyRow::nan;
  if (empty && inside) {
    w = call.empty_rows == EmptyRow::uniform
            ? 1 / static_cast<float>(sequence.Lkv)
        : undefined ? __int_as_float(0x7fc00000)
                    : 0;
  }
  if (p.form == AttnWeights::after_dropout && call.dropping && inside &&
      !undefined) {
    w = keeps(call, sequence.b, h, i, j) ? w * call.dropout_factor : 0;
  }
  const auto& s = p.attn_weights.strides;
  float* to = p.attn_weights.data + sequence.b * s[0] +
              (p.form == AttnWeights::mean ? 0 : h) * s[1] + i * s[2] +
              j * s[3];
  if (p.form != AttnWeights::mean) {
    *to = inside ? w : 0;
    return;
  }
  // Head after head, in the stream's order.
  float sum = inside ? w : 0;
  sum = h == 0 ? sum : *to + sum;
  *to = h == call.Hq - 1 ? sum / static_cast<float>(call.Hq) : sum;
}

// A block of threads takes the queries of one cell of the map, a warp a row.
// The block of keys in shared memory is that of all its warps.
template <class T>
__global__ void __launch_bounds__(kWarps * 32)
    rows_kernel(const __grid_constant__ Params<T> p) {
  __shared__ T keys[kBlock][kStride];
  __shared__ T queries[kWarps][kStride];
  __shared__ MapRow map;
  const Call& call = p.call;
  const int h = p.head >= 0 ? p.head : static_cast<int>(blockIdx.y);
  const Sequence sequence = sequence_of(call, static_cast<int>(blockIdx.z));
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const int counted = p.counted_queries[sequence.b];
  const int cell = static_cast<int>(blockIdx.x);
  const int cells = static_cast<int>(gridDim.x);
  // Queries that count are cut as the map is; those behind them go along.
  const int map_cells = min(counted, kMapCells);
  const auto start = [&](int c) {
    return c >= map_cells ? counted : (c * counted + map_cells - 1) / map_cells;
  };
  const int first = start(cell);
  const int last = cell == cells - 1
                       ? (p.form == AttnWeights::none ? sequence.Lq : call.Lq)
                       : start(cell + 1);
  const bool weights = p.attn_weights.data != nullptr;
  const bool wants_map =
      p.map_mean.data != nullptr || p.map_largest.data != nullptr;
  map.clear();
  for (int base = first; base < last; base += kWarps) {
    const int i = base + warp;
    const bool row = i < last && i < sequence.Lq;
    const std::int64_t at_row = sequence.first_query + i;
    __syncwarp();  // the row before is done with
    float lse = minus_infinity();
    KeyRange range = {0, 0};
    if (row) {
      lse = p.lse.data[sequence.batch * p.lse.strides[0] +
                       h * p.lse.strides[1] + at_row * p.lse.strides[2]];
      range = keys_of(call, sequence, i);
      const T* from = row_of(p.query, sequence.batch, at_row, h);
      for (int d = lane; d < call.D; d += 32) {
        queries[warp][d] = from[d * p.query.strides[3]];
      }
    }
    const bool empty = lse == minus_infinity();
    const bool in_map = row && !empty && i < counted;
    const std::int64_t position = i + call.query_starts[sequence.b];
    RowSums sums;
    TopKeys top;
    if (in_map && lane == 0) {
      ++map.rows[warp];
    }
    for (int first_key = 0; first_key < (weights ? call.Lkv : sequence.Lkv);
         first_key += kBlock) {
      __syncthreads();
      load_rows(p.key, sequence, sequence.first_key, first_key, sequence.Lkv,
                h / call.group, call.D, keys);
      __syncthreads();
      const int j = first_key + lane;
      float log2_w = minus_infinity();
      if (row && !empty && j < sequence.Lkv) {
        log2_w = log2_weight(call, sequence, range, h, i, j,
                             dot(queries[warp], 1, keys[lane], 1, call.D), lse);
      }
      const float w = exp2f(log2_w);
      if (weights && i < last && j < call.Lkv) {
        store_weight(p, sequence, h, i, j, w, empty);
      }
      if (row && j < sequence.Lkv) {
        const bool separator =
            p.separators.data != nullptr &&
            p.separators.data[sequence.b * p.separators.strides[0] +
                              j * p.separators.strides[1]];
        sums.add(w, log2_w, j - position, j == p.first_keys[sequence.b],
                 separator);
      }
      if (p.top_keys.data != nullptr || p.top_weights.data != nullptr) {
        top.add_block(w, first_key, p.top_count);
      }
      if (in_map && wants_map && first_key < sequence.Lkv) {
        map.add(w, first_key, sequence.Lkv);
      }
    }
    if (row && p.rows.data != nullptr) {
      const auto& s = p.rows.strides;
      sums.store(p.rows.data + sequence.batch * s[0] + h * s[1] + at_row * s[2],
                 s[3], empty);
    }
    for (int part = 0; row && part < 2; ++part) {
      const int rank = lane + 32 * part;
      const bool found = top.key[part] >= 0;
      if (rank < p.top_count && p.top_keys.data != nullptr) {
        const auto& s = p.top_keys.strides;
        p.top_keys.data[sequence.batch * s[0] + h * s[1] + at_row * s[2] +
                        rank * s[3]] = found ? top.key[part] : -1;
      }
      if (rank < p.top_count && p.top_weights.data != nullptr) {
        const auto& s = p.top_weights.strides;
        p.top_weights.data[sequence.batch * s[0] + h * s[1] + at_row * s[2] +
                           rank * s[3]] = found ? top.weight[part] : 0;
      }
    }
  }
  if (!wants_map) {
    return;
  }
  __syncthreads();
  const int thread = warp * 32 + lane;
  const int key_cells = min(sequence.Lkv, kMapCells);
  for (int c = thread; c < min(call.Lkv, kMapCells); c += kWarps * 32) {
    float sum = 0;
    float largest = 0;
    int rows = 0;
    for (int w = 0; w < kWarps; ++w) {
      sum += map.sum[w][c];
      largest = fmaxf(largest, map.largest[w][c]);
      rows += map.rows[w];
    }
    const bool inside = c < key_cells && cell < map_cells && rows > 0;
    const auto key_start = [&](int n) {
      return (n * static_cast<std::int64_t>(sequence.Lkv) + key_cells - 1) /
             key_cells;
    };
    const float pairs =
        inside ? static_cast<float>(rows * (key_start(c + 1) - key_start(c)))
               : 1;
    if (p.map_mean.data != nullptr) {
      const auto& s = p.map_mean.strides;
      p.map_mean.data[sequence.b * s[0] + h * s[1] + cell * s[2] + c * s[3]] =
          inside ? sum / pairs : 0;
    }
    const auto& l = p.map_largest.strides;
    if (p.map_largest.data != nullptr) {
      p.map_largest
          .data[sequence.b * l[0] + h * l[1] + cell * l[2] + c * l[3]] =
          inside ? largest : 0;
    }
  }
}

// What each key receives: a warp a key, the queries in blocks from query 0 on.
template <class T>
__global__ void __launch_bounds__(kWarps * 32)
    columns_kernel(const __grid_constant__ Params<T> p) {
  __shared__ T queries[kBlock][kStride];
  __shared__ T keys[kWarps][kStride];
  const Call& call = p.call;
  const int h = static_cast<int>(blockIdx.y);
  const Sequence sequence = sequence_of(call, static_cast<int>(blockIdx.z));
  const int lane = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.y);
  const int j = static_cast<int>(blockIdx.x) * kWarps + warp;
  const int counted = p.counted_queries[sequence.b];
  if (j < sequence.Lkv) {
    const T* from =
        row_of(p.key, sequence.batch, std::int64_t{sequence.first_key} + j,
               h / call.group);
    for (int d = lane; d < call.D; d += 32) {
      keys[warp][d] = from[d * p.key.strides[3]];
    }
  }
  float sum = 0;
  for (int base = 0; base < counted; base += kBlock) {
    __syncthreads();
    load_rows(p.query, sequence, sequence.first_query, base, counted, h, call.D,
              queries);
    __syncthreads();
    const int i = base + lane;
    if (i < counted && j < sequence.Lkv) {
      const std::int64_t row = sequence.first_query + i;
      const float lse =
          p.lse.data[sequence.batch * p.lse.strides[0] + h * p.lse.strides[1] +
                     row * p.lse.strides[2]];
      if (lse != minus_infinity()) {
        sum += exp2f(
            log2_weight(call, sequence, keys_of(call, sequence, i), h, i, j,
                        dot(queries[lane], 1, keys[warp], 1, call.D), lse));
      }
    }
  }
  sum = warp_sum(sum);
  if (lane == 0 && j < sequence.Lkv) {
    const auto& s = p.columns.strides;
    p.columns.data[sequence.batch * s[0] + h * s[1] +
                   (sequence.first_key + j) * s[2]] = sum;
  }
}

template <class T>
Status launch(const WeightsRun& run) {
  const Call& call = run.call;
  Params<T> p = {call,
                 device_tensor<const T>(run.query),
                 device_tensor<const T>(run.key),
                 device_tensor<const float>(run.lse),
                 run.form,
                 device_tensor<float>(run.attn_weights),
                 device_tensor<float>(run.statistics.rows),
                 device_tensor<std::int64_t>(run.statistics.top_keys),
                 device_tensor<float>(run.statistics.top_weights),
                 device_tensor<float>(run.statistics.columns),
                 device_tensor<float>(run.statistics.map_mean),
                 device_tensor<float>(run.statistics.map_largest),
                 device_tensor<const bool>(run.separators),
                 run.top_keys,
                 run.counted_queries,
                 run.first_keys,
                 -1};
  const auto whole = [](int n) { return static_cast<unsigned>(n); };
  const dim3 threads(32, kWarps);
  if (p.columns.data != nullptr && call.Lkv > 0) {
    const dim3 blocks(whole((call.Lkv + kWarps - 1) / kWarps), whole(call.Hq),
                      whole(call.B));
    columns_kernel<T><<<blocks, threads, 0, run.stream>>>(p);
  }
  const bool by_rows =
      call.Lq > 0 &&
      (p.attn_weights.data != nullptr || p.rows.data != nullptr ||
       p.top_keys.data != nullptr || p.top_weights.data != nullptr ||
       p.map_mean.data != nullptr || p.map_largest.data != nullptr);
  const bool mean =
      p.attn_weights.data != nullptr && run.form == AttnWeights::mean;
  const dim3 blocks(whole(std::min(call.Lq, kMapCells)),
                    whole(mean ? 1 : call.Hq), whole(call.B));
  for (int pass = 0; by_rows && pass < (mean ? call.Hq : 1); ++pass) {
    p.head = mean ? pass : -1;
    rows_kernel<T><<<blocks, threads, 0, run.stream>>>(p);
  }
  return check_cuda(cudaGetLastError(), "launching the pass over the weights");
}

}  // namespace

bool asks_for_anything(const WeightsRun& run) {
  const StatisticsViews& s = run.statistics;
  return run.attn_weights.data() != nullptr || s.rows.data() != nullptr ||
         s.top_keys.data() != nullptr || s.top_weights.data() != nullptr ||
         s.columns.data() != nullptr || s.map_mean.data() != nullptr ||
         s.map_largest.data() != nullptr;
}

Status launch_weights_pass(DType dtype, const WeightsRun& run) {
  return dtype == DType::bfloat16 ? launch<__nv_bfloat16>(run)
                                  : launch<__half>(run);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
