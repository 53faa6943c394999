#include <algorithm>
#include <cstdint>

#include "cuda/gradient_pairs.cuh"
#include "cuda/launch.cuh"
#include "cuda/plain_loops.cuh"
#include "cuda/term_gradients.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

constexpr int kWarps = 4;  // of a block

struct Extent4 {
  int of[4];
};

template <class T>
struct Params {
  Call call;
  DeviceTensor<const T, 4> query;
  DeviceTensor<const T, 4> key;
  DeviceTensor<const T, 4> value;
  DeviceTensor<const T, 4> d_output;
  RowStatistics statistics;
};

// The gradient of one score: P * (dP - Delta), 0 where masked.
template <class T>
__device__ float score_gradient(const Params<T>& p, const Sequence& sequence,
                                int h, int i, int j) {
  const Call& call = p.call;
  if (i >= sequence.Lq || j >= sequence.Lkv ||
      !may_attend(call, keys_of(call, sequence, i), sequence.b, h, i, j)) {
    return 0;
  }
  const std::int64_t q = sequence.first_query + i;
  const std::int64_t k = sequence.first_key + j;
  const int g = h / call.group;
  const float qk =
      dot(row_of(p.query, sequence.batch, q, h), p.query.strides[3],
          row_of(p.key, sequence.batch, k, g), p.key.strides[3], call.D);
  float tanh;
  const std::int64_t row = p.statistics.at(call, sequence.b, h, i);
  const float weight = exp2_of(score_of(call, sequence.b, h, i, j, qk, tanh) -
                               p.statistics.lse[row]);
  float d_weight =
      dot(row_of(p.d_output, sequence.batch, q, h), p.d_output.strides[3],
          row_of(p.value, sequence.batch, k, g), p.value.strides[3], call.Dv);
  if (call.dropping) {
    d_weight =
        keeps(call, sequence.b, h, i, j) ? d_weight * call.dropout_factor : 0;
  }
  return weight * (d_weight - p.statistics.delta[row]);
}

// A lane a key of the bias, or a warp all of them where they share one element;
// what else is broadcast is added in the order of sequences, heads and queries.
template <class T>
__global__ void __launch_bounds__(kWarps * 32)
    bias_gradient_kernel(const __grid_constant__ Params<T> p,
                         DeviceTensor<float, 4> d_bias, Extent4 extents) {
  const Call& call = p.call;
  const int lane = static_cast<int>(threadIdx.x);
  const bool one_key = extents.of[3] == 1;
  const int own =
      (static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.y)) *
      (one_key ? 1 : 32);
  if (own >= extents.of[3]) {
    return;
  }
  const int h0 = static_cast<int>(blockIdx.z) % extents.of[1];
  const int b0 = static_cast<int>(blockIdx.z) / extents.of[1];
  for (int i0 = static_cast<int>(blockIdx.y); i0 < extents.of[2];
       i0 += static_cast<int>(gridDim.y)) {
    const auto last = [&](int axis, int index, int size) {
      return extents.of[axis] == 1 ? size : index + 1;
    };
    float sum = 0;
    for (int b = b0; b < last(0, b0, call.B); ++b) {
      const Sequence sequence = sequence_of(call, b);
      for (int h = h0; h < last(1, h0, call.Hq); ++h) {
        for (int i = i0; i < last(2, i0, sequence.Lq); ++i) {
          const int end = one_key ? sequence.Lkv : own + 32;
          for (int j = own + lane; j < end; j += 32) {
            sum += score_gradient(p, sequence, h, i, j);
          }
        }
      }
    }
    sum = one_key ? warp_sum(sum) : sum;
    const int j = one_key ? 0 : own + lane;
    if (j < extents.of[3] && (!one_key || lane == 0)) {
      d_bias.data[b0 * d_bias.strides[0] + h0 * d_bias.strides[1] +
                  i0 * d_bias.strides[2] + j * d_bias.strides[3]] = sum;
    }
  }
}

// A warp a row: the sum over its keys of the gradient times the distance.
template <class T>
__global__ void __launch_bounds__(kWarps * 32)
    slope_rows_kernel(const __grid_constant__ Params<T> p, float* sums) {
  const Call& call = p.call;
  const int i =
      static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.y);
  const int h = static_cast<int>(blockIdx.y);
  const Sequence sequence = sequence_of(call, static_cast<int>(blockIdx.z));
  if (i >= p.statistics.rows) {
    return;
  }
  float sum = 0;
  for (int j = static_cast<int>(threadIdx.x);
       i < sequence.Lq && j < sequence.Lkv; j += 32) {
    const std::int64_t offset = i + call.query_starts[sequence.b] - j;
    const float gradient = score_gradient(p, sequence, h, i, j);
    // A masked pair has no distance that counts, however far it is.
    sum = gradient == 0
              ? sum
              : fmaf(gradient,
                     -static_cast<float>(offset < 0 ? -offset : offset), sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) {
    sums[p.statistics.at(call, sequence.b, h, i)] = sum;
  }
}

// A warp a head: its rows, in the order of sequences and queries.
__global__ void slopes_kernel(const __grid_constant__ Call call,
                              const float* sums, int rows,
                              DeviceTensor<float, 1> d_slopes) {
  const int h = static_cast<int>(blockIdx.x);
  float sum = 0;
  for (int b = 0; b < call.B; ++b) {
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += 32) {
      sum += sums[(static_cast<std::int64_t>(b) * call.Hq + h) * rows + i];
    }
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) {
    d_slopes.data[h * d_slopes.strides[0]] = sum;
  }
}

template <class T>
Status launch(const TermGradientRun& run) {
  const Call& call = run.call;
  const Params<T> p = {call,
                       device_tensor<const T>(run.query),
                       device_tensor<const T>(run.key),
                       device_tensor<const T>(run.value),
                       device_tensor<const T>(run.d_output),
                       {run.lse, run.delta, run.rows}};
  const dim3 threads(32, kWarps);
  if (run.d_bias.size() != 0) {
    Extent4 extents{};
    for (std::size_t axis = 0; axis < 4; ++axis) {
      extents.of[axis] = static_cast<int>(run.d_bias.extent(axis));
    }
    const int keys = extents.of[3] == 1 ? 1 : (extents.of[3] + 31) / 32;
    constexpr int kMostRows = 65535;  // of a grid
    const dim3 blocks(static_cast<unsigned>((keys + kWarps - 1) / kWarps),
                      static_cast<unsigned>(std::min(extents.of[2], kMostRows)),
                      static_cast<unsigned>(extents.of[0] * extents.of[1]));
    bias_gradient_kernel<T><<<blocks, threads, 0, run.stream>>>(
        p, device_tensor<float>(run.d_bias), extents);
  }
  if (run.d_slopes.size() != 0) {
    if (run.rows != 0) {
      const dim3 blocks(static_cast<unsigned>((run.rows + kWarps - 1) / kWarps),
                        static_cast<unsigned>(call.Hq),
                        static_cast<unsigned>(call.B));
      slope_rows_kernel<T><<<blocks, threads, 0, run.stream>>>(p, run.sums);
    }
    slopes_kernel<<<static_cast<unsigned>(call.Hq), 32, 0, run.stream>>>(
        call, run.sums, run.rows, device_tensor<float>(run.d_slopes));
  }
  return check_cuda(cudaGetLastError(),
                    "launching the gradients of bias and slopes");
}

}  // namespace

Status launch_term_gradients(DType dtype, const TermGradientRun& run) {
  return dtype == DType::bfloat16 ? launch<__nv_bfloat16>(run)
                                  : launch<__half>(run);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
