// How the copy engine sees a tensor: boxes of 64 columns and some rows, of one
// head and one batch element, that arrive swizzled by 128 bytes. What lies
// outside the tensor arrives as 0.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// Whether the copy engine can read a (B, L, H, D) tensor of 16-bit numbers
// where it lies: rows without gaps, all at multiples of 16 bytes.
bool can_be_copied_in_boxes(const TensorView<const std::byte, 4>& tensor);

// Of such a tensor. Errors: device_error.
Result<CUtensorMap> tensor_map(const TensorView<const std::byte, 4>& tensor,
                               DType dtype, int box_rows);

}  // namespace headwise::inline HEADWISE_ABI::cuda
