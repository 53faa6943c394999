#include "cuda/launch_forward.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

ForwardKernel bfloat16_forward_kernel(std::size_t head_size, bool terms) {
  return forward_kernel_of_type<__nv_bfloat16>(head_size, terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
