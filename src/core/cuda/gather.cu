#include <algorithm>
#include <cstdint>

#include "cuda/call.h"
#include "cuda/gather.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

constexpr std::size_t kRowStep = 8;  // numbers in 16 bytes

std::size_t row_size(std::size_t D) {
  return (D + kRowStep - 1) / kRowStep * kRowStep;
}

struct Sizes {
  std::int64_t L, H, D, row;
};

__global__ void gather_kernel(DeviceTensor<const std::uint16_t, 4> from,
                              std::uint16_t* to, Sizes sizes,
                              std::int64_t rows) {
  for (std::int64_t n = blockIdx.x; n < rows; n += gridDim.x) {
    const std::int64_t h = n % sizes.H;
    const std::int64_t l = n / sizes.H % sizes.L;
    const std::int64_t b = n / sizes.H / sizes.L;
    const std::uint16_t* row = from.data + b * from.strides[0] +
                               l * from.strides[1] + h * from.strides[2];
    for (std::int64_t d = threadIdx.x; d < sizes.row; d += blockDim.x) {
      to[n * sizes.row + d] = d < sizes.D ? row[d * from.strides[3]] : 0;
    }
  }
}

}  // namespace

std::size_t gathered_bytes(const Extents<4>& extents) {
  return extents[0] * extents[1] * extents[2] * row_size(extents[3]) *
         sizeof(std::uint16_t);
}

Result<TensorView<const std::byte, 4>> gather(
    const TensorView<const std::byte, 4>& tensor, std::byte* to,
    cudaStream_t stream) {
  const auto [B, L, H, D] = tensor.extents();
  const std::size_t row = row_size(D);
  DeviceTensor<const std::uint16_t, 4> from;
  from.data = reinterpret_cast<const std::uint16_t*>(tensor.data());
  for (std::size_t axis = 0; axis < 4; ++axis) {
    from.strides[axis] = tensor.stride(axis);
  }
  const auto rows = static_cast<std::int64_t>(B * L * H);
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  gather_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(rows, 4096)),
                  128, 0, stream>>>(from, reinterpret_cast<std::uint16_t*>(to),
                                    {whole(L), whole(H), whole(D), whole(row)},
                                    rows);
  HEADWISE_TRY(check_cuda(cudaGetLastError(), "gathering a tensor"));
  return TensorView<const std::byte, 4>(to, tensor.extents(),
                                        row_major(Extents<4>{B, L, H, row}));
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
