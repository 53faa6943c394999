#include "cuda/launch_backward.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

BackwardKernel float16_backward_kernel(std::size_t head_size, bool terms) {
  return backward_kernel_of_type<__half>(head_size, terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
