// Chooses and launches the backward kernels of one type.
#pragma once

#include <algorithm>

#include "cuda/backward_kernel.h"
#include "cuda/check_cuda.h"
#include "cuda/key_gradient.cuh"
#include "cuda/launch.cuh"
#include "cuda/query_gradient.cuh"
#include "cuda/row_statistics.cuh"
#include "cuda/tensor_map.h"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T>
Status launch_row_statistics(const BackwardRun& run) {
  if (run.rows == 0) {
    return ok();
  }
  constexpr unsigned kWarps = 8;
  const dim3 blocks((static_cast<unsigned>(run.rows) + kWarps - 1) / kWarps,
                    static_cast<unsigned>(run.call.Hq),
                    static_cast<unsigned>(run.call.B));
  row_statistics_kernel<T><<<blocks, dim3(32, kWarps), 0, run.stream>>>(
      run.call,
      {device_tensor<const T>(run.output), device_tensor<const T>(run.d_output),
       device_tensor<const float>(run.softmax_rows)},
      {run.lse, run.delta, run.rows});
  return check_cuda(cudaGetLastError(), "launching the row statistics");
}

// The maps of query, key, value and d_output, with boxes of this many rows.
struct BackwardMaps {
  CUtensorMap maps[4];

  static Result<BackwardMaps> create(const BackwardRun& run, DType dtype,
                                     int query_rows, int key_rows) {
    BackwardMaps all;
    const TensorView<const std::byte, 4>* tensors[] = {
        &run.query, &run.key, &run.value, &run.d_output};
    const int rows[] = {query_rows, key_rows, key_rows, query_rows};
    for (int n = 0; n < 4; ++n) {
      const auto map = tensor_map(*tensors[n], dtype, rows[n]);
      HEADWISE_TRY(map);
      all.maps[n] = *map;
    }
    return all;
  }
};

template <class T, class Shape, bool kTerms>
Status launch_key_gradient(const BackwardRun& run, const TiledWork& work) {
  if (work.work_items == 0) {
    return ok();
  }
  const auto maps = BackwardMaps::create(run, kDType<T>, Shape::kM, 64);
  HEADWISE_TRY(maps);
  constexpr auto kernel = key_gradient_kernel<Shape, kTerms, T>;
  HEADWISE_TRY(allow_shared_memory<kernel, Shape::kSharedBytes>());
  const KeyGradientParams<T> params = {
      run.call,
      {run.lse, run.delta, run.rows},
      device_tensor<const T>(run.d_output),
      device_tensor<T>(run.d_key),
      device_tensor<T>(run.d_value),
      run.scale,
      reinterpret_cast<const KeyTile*>(work.tiles),
      work.work,
      work.work_items,
      work.next_item};
  const auto& m = maps->maps;
  kernel<<<std::min(run.blocks, work.work_items), Shape::kThreads,
           Shape::kSharedBytes, run.stream>>>(m[0], m[1], m[2], m[3], params);
  return check_cuda(cudaGetLastError(), "launching the gradient of the keys");
}

template <class T, class Shape, bool kTerms>
Status launch_query_gradient(const BackwardRun& run) {
  if (run.queries.work_items == 0 || run.d_query.data() == nullptr) {
    return ok();
  }
  const auto maps = BackwardMaps::create(run, kDType<T>, 64, Shape::kN);
  HEADWISE_TRY(maps);
  constexpr auto kernel = query_gradient_kernel<Shape, kTerms, T>;
  HEADWISE_TRY(allow_shared_memory<kernel, Shape::kSharedBytes>());
  const QueryGradientParams<T> params = {
      run.call,
      {run.lse, run.delta, run.rows},
      device_tensor<T>(run.d_query),
      run.scale,
      reinterpret_cast<const QueryTile*>(run.queries.tiles),
      run.queries.work,
      run.queries.work_items,
      run.queries.next_item};
  const auto& m = maps->maps;
  kernel<<<std::min(run.blocks, run.queries.work_items), Shape::kThreads,
           Shape::kSharedBytes, run.stream>>>(m[0], m[1], m[2], m[3], params);
  return check_cuda(cudaGetLastError(),
                    "launching the gradient of the queries");
}

// kM: queries that pass by the keys at once; kN: keys that pass by the queries.
template <class T, int kD, int kM, int kN, bool kTerms>
Status launch_backward(const BackwardRun& run) {
  HEADWISE_TRY(launch_row_statistics<T>(run));
  constexpr int kStages = 2;
  if constexpr (kD <= 128) {
    using Keys = KeyGradientShape<kD, kM, kStages, true, true>;
    HEADWISE_TRY(launch_key_gradient<T, Keys, kTerms>(run, run.keys));
  } else {
    using Keys = KeyGradientShape<kD, kM, kStages, true, false>;
    using Values = KeyGradientShape<kD, kM, kStages, false, true>;
    HEADWISE_TRY(launch_key_gradient<T, Keys, kTerms>(run, run.keys));
    HEADWISE_TRY(launch_key_gradient<T, Values, kTerms>(run, run.keys_again));
  }
  return launch_query_gradient<T, QueryGradientShape<kD, kN, kStages>, kTerms>(
      run);
}

template <class T, int kD, int kM, int kN>
BackwardKernel backward_kernel_of_size(bool terms) {
  return {128, 128, kM,
          terms ? launch_backward<T, kD, kM, kN, true>
                : launch_backward<T, kD, kM, kN, false>};
}

template <class T>
BackwardKernel backward_kernel_of_type(std::size_t head_size, bool terms) {
  return head_size <= 64    ? backward_kernel_of_size<T, 64, 64, 128>(terms)
         : head_size <= 96  ? backward_kernel_of_size<T, 96, 64, 96>(terms)
         : head_size <= 128 ? backward_kernel_of_size<T, 128, 64, 96>(terms)
         : head_size <= 192 ? backward_kernel_of_size<T, 192, 64, 64>(terms)
                            : backward_kernel_of_size<T, 256, 32, 32>(terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
