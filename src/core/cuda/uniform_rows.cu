#include "cuda/check_cuda.h"
#include "cuda/launch.cuh"
#include "cuda/pair.cuh"
#include "cuda/uniform_rows.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

// One block of threads a query and head, a thread a feature.
template <class T>
__global__ void uniform_rows_kernel(Call call, DeviceTensor<const T, 4> value,
                                    DeviceTensor<T, 4> output,
                                    DeviceTensor<const float, 3> lse) {
  const int h = static_cast<int>(blockIdx.y);
  const Sequence sequence = sequence_of(call, static_cast<int>(blockIdx.z));
  const int i = static_cast<int>(blockIdx.x);
  const std::int64_t row = sequence.first_query + i;
  if (i >= sequence.Lq ||
      lse.data[sequence.batch * lse.strides[0] + h * lse.strides[1] +
               row * lse.strides[2]] != -__int_as_float(0x7f800000)) {
    return;
  }
  const KeyRange all = {0, sequence.Lkv};
  for (int d = static_cast<int>(threadIdx.x); d < call.Dv;
       d += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int j = 0; j < sequence.Lkv; j += 2) {
      const unsigned kept =
          call.dropping ? keeps_pair(call, all, sequence.b, h, i, j) : 3U;
      for (int n = 0; n < 2 && j + n < sequence.Lkv; ++n) {
        if ((kept >> n) % 2 != 0) {
          sum += widened(
              value.data[sequence.batch * value.strides[0] +
                         (sequence.first_key + j + n) * value.strides[1] +
                         h / call.group * value.strides[2] +
                         d * value.strides[3]]);
        }
      }
    }
    const float factor = call.dropping ? call.dropout_factor : 1;
    output.data[sequence.batch * output.strides[0] + row * output.strides[1] +
                h * output.strides[2] + d * output.strides[3]] =
        narrowed<T>(sequence.Lkv == 0
                        ? 0
                        : sum * factor / static_cast<float>(sequence.Lkv));
  }
}

template <class T>
Status fill(const Call& call, const TensorView<const std::byte, 4>& value,
            const TensorView<std::byte, 4>& output,
            const TensorView<const float, 3>& lse, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(call.Lq),
                    static_cast<unsigned>(call.Hq),
                    static_cast<unsigned>(call.B));
  uniform_rows_kernel<T><<<blocks, 64, 0, stream>>>(
      call, device_tensor<const T>(value), device_tensor<T>(output),
      device_tensor<const float>(lse));
  return check_cuda(cudaGetLastError(), "filling the rows without a key");
}

}  // namespace

Status fill_uniform_rows(const Call& call, DType dtype,
                         const TensorView<const std::byte, 4>& value,
                         const TensorView<std::byte, 4>& output,
                         const TensorView<const float, 3>& lse,
                         cudaStream_t stream) {
  return dtype == DType::bfloat16
             ? fill<__nv_bfloat16>(call, value, output, lse, stream)
             : fill<__half>(call, value, output, lse, stream);
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
