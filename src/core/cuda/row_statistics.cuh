// What the backward pass needs of each row, from the forward pass's results.
#pragma once

#include "cuda/fragment.cuh"
#include "cuda/gradient_pairs.cuh"
#include "cuda/pair.cuh"
#include "cuda/plain_loops.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
struct RowStatisticsInputs {
  DeviceTensor<const T, 4> output;
  DeviceTensor<const T, 4> d_output;
  DeviceTensor<const float, 4> softmax_rows;
};

// A warp a row; rows behind the end of a sequence are without a key.
template <class T>
__global__ void row_statistics_kernel(
    const __grid_constant__ Call call,
    const __grid_constant__ RowStatisticsInputs<T> from, RowStatistics to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  const int h = static_cast<int>(blockIdx.y);
  const Sequence sequence = sequence_of(call, static_cast<int>(blockIdx.z));
  if (i >= to.rows) {
    return;
  }
  float max = 0;
  float sum = 0;
  float delta = 0;
  if (i < sequence.Lq) {
    const std::int64_t row = sequence.first_query + i;
    const auto& s = from.softmax_rows.strides;
    const float* saved =
        from.softmax_rows.data + sequence.batch * s[0] + h * s[1] + row * s[2];
    max = saved[0];
    sum = saved[s[3]];
    const T* output = row_of(from.output, sequence.batch, row, h);
    const T* d_output = row_of(from.d_output, sequence.batch, row, h);
    for (int d = static_cast<int>(threadIdx.x); sum != 0 && d < call.Dv;
         d += 32) {
      delta = fmaf(widened(output[d * from.output.strides[3]]),
                   widened(d_output[d * from.d_output.strides[3]]), delta);
    }
    delta = warp_sum(delta);
  }
  if (threadIdx.x == 0) {
    const std::int64_t at = to.at(call, sequence.b, h, i);
    to.lse[at] = sum == 0 ? -minus_infinity() : max + log2f(sum);
    to.delta[at] = delta;
  }
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
