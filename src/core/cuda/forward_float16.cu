#include "cuda/launch_forward.cuh"

namespace headwise::inline HEADWISE_ABI::cuda {

ForwardKernel float16_forward_kernel(std::size_t head_size, bool terms) {
  return forward_kernel_of_type<__half>(head_size, terms);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
