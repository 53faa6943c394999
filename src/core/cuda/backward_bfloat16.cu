#include "cuda/launch_backward.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

BackwardKernel bfloat16_backward_kernel(std::size_t head_size, bool terms) {
  return backward_kernel_of_type<__nv_bfloat16>(head_size, terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
