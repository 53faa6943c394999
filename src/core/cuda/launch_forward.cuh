// Chooses and launches a forward kernel of one type.
#pragma once

#include "cuda/check_cuda.h"
#include "cuda/forward.cuh"
#include "cuda/forward_kernel.h"
#include "cuda/launch.cuh"
#include "cuda/tensor_map.h"

namespace headwise::inline HEADWISE_ABI::cuda {

template <class T, class Shape, bool kTerms, bool kSecondPass>
Status launch_pass(const ForwardRun& run, const CUtensorMap& query,
                   const CUtensorMap& key, const CUtensorMap& value) {
  constexpr auto kernel = forward_kernel<Shape, kTerms, kSecondPass, T>;
  HEADWISE_TRY(allow_shared_memory<kernel, Shape::kSharedBytes>());
  const ForwardParams<T> params = {
      run.call,
      {device_tensor<T>(run.output), device_tensor<float>(run.lse),
       device_tensor<float>(run.softmax_rows)},
      reinterpret_cast<const QueryTile*>(run.tiles.tiles),
      run.tiles.work,
      run.tiles.work_items,
      run.tiles.next_item,
      run.suspect};
  kernel<<<run.blocks, Shape::kThreads, Shape::kSharedBytes, run.stream>>>(
      query, key, value, device_tensor<const T>(run.value), params);
  return check_cuda(cudaGetLastError(), "launching the forward kernel");
}

template <class T, class Shape, bool kTerms>
Status launch_forward(const ForwardRun& run) {
  const auto query = tensor_map(run.query, kDType<T>, 64);
  HEADWISE_TRY(query);
  const auto key = tensor_map(run.key, kDType<T>, Shape::kN);
  HEADWISE_TRY(key);
  const auto value = tensor_map(run.value, kDType<T>, Shape::kN);
  HEADWISE_TRY(value);
  if (Status s =
          launch_pass<T, Shape, kTerms, false>(run, *query, *key, *value);
      !s || run.suspect == nullptr) {
    return s;
  }
  return launch_pass<T, Shape, kTerms, true>(run, *query, *key, *value);
}

template <class T, class Shape>
ForwardKernel forward_kernel_of_shape(bool terms) {
  return {Shape::kM, terms ? launch_forward<T, Shape, true>
                           : launch_forward<T, Shape, false>};
}

template <class T>
ForwardKernel forward_kernel_of_type(std::size_t head_size, bool terms) {
  return head_size <= 64
             ? forward_kernel_of_shape<T, ForwardShape<64, 3, 128>>(terms)
         : head_size <= 96
             ? forward_kernel_of_shape<T, ForwardShape<96, 2, 128>>(terms)
         : head_size <= 128
             ? forward_kernel_of_shape<T, ForwardShape<128, 2, 128>>(terms)
         : head_size <= 192
             ? forward_kernel_of_shape<T, ForwardShape<192, 2, 96>>(terms)
             : forward_kernel_of_shape<T, ForwardShape<256, 2, 80>>(terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
