#include "cuda/tensor_map.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

constexpr std::size_t kBytes = 2;  // of a number
constexpr std::size_t kAlignment = 16;

using Encode = decltype(&cuTensorMapEncodeTiled);

// From the driver that is there: headwise doesn't link it, so that it starts
// on machines without one.
Encode encoder() {
  static const Encode encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t code = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    return code == cudaSuccess && found == cudaDriverEntryPointSuccess
               ? reinterpret_cast<Encode>(entry)
               : nullptr;
  }();
  return encode;
}

}  // namespace

bool can_be_copied_in_boxes(const TensorView<const std::byte, 4>& tensor) {
  if (reinterpret_cast<std::uintptr_t>(tensor.data()) % kAlignment != 0 ||
      tensor.stride(3) != 1 || tensor.size() == 0) {
    return false;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto stride = tensor.stride(axis);
    // An axis of extent 1 is never walked.
    if (tensor.extent(axis) > 1 &&
        (stride <= 0 ||
         static_cast<std::size_t>(stride) * kBytes % kAlignment != 0 ||
         static_cast<std::uint64_t>(stride) * kBytes >= (1ULL << 40))) {
      return false;
    }
  }
  return true;
}

Result<CUtensorMap> tensor_map(const TensorView<const std::byte, 4>& tensor,
                               DType dtype, int box_rows) {
  const Encode encode = encoder();
  if (encode == nullptr) {
    return Error{ErrorCode::device_error,
                 ErrorDetails{.operation = "attention",
                              .given = "the GPU's driver has no tensor maps",
                              .expected = "a driver for CUDA 12 or newer"}};
  }
  const auto [B, L, H, D] = tensor.extents();
  const cuuint64_t extents[] = {D, L, H, B};
  const std::size_t axes[] = {1, 2, 0};
  cuuint64_t strides[3];
  for (std::size_t n = 0; n < 3; ++n) {
    strides[n] = tensor.extent(axes[n]) > 1
                     ? static_cast<cuuint64_t>(tensor.stride(axes[n])) * kBytes
                     : kAlignment;
  }
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult code = encode(
      &map,
      dtype == DType::bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                               : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      4, const_cast<std::byte*>(tensor.data()), extents, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) {
    return Error{
        ErrorCode::device_error,
        ErrorDetails{
            .operation = "attention",
            .given = message("the GPU's driver refused a tensor map (error {})",
                             static_cast<int>(code))}};
  }
  return map;
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
