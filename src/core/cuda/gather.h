// Tensors that the copy engine can't read where they lie, because a row is not
// a multiple of 16 bytes or has gaps, are copied to where it can.
#pragma once

#include <cstddef>

#include "cuda/check_cuda.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// The bytes of a copy of such a tensor.
std::size_t gathered_bytes(const Extents<4>& extents);
// The view of the copy, at `to`; the copying is put into the stream.
Result<TensorView<const std::byte, 4>> gather(
    const TensorView<const std::byte, 4>& tensor, std::byte* to,
    cudaStream_t stream);

}  // namespace headwise::inline HEADWISE_ABI::cuda
