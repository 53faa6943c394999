#include "headwise/run/device_buffer.h"

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "cuda/check_cuda.h"
#include "cuda/find_gpu.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "device buffer";

cudaStream_t stream_of(const Device& device) {
  return static_cast<cudaStream_t>(device.stream);
}

Status check_device(const Device& device) {
  if (device.kind != Device::Kind::cuda) {
    return value_error(kOperation, "device", "cpu", "Device::cuda(stream)");
  }
  const auto gpu = cuda::find_gpu("");
  return gpu ? ok() : gpu.error();
}

Status check_bytes(std::size_t given, std::size_t expected) {
  return given == expected ? ok()
                           : argument_error(kOperation, "bytes",
                                            message("have size {}", given),
                                            std::to_string(expected));
}

Status copy(void* to, const void* from, std::size_t bytes,
            const Device& device) {
  HEADWISE_TRY(cuda::check_cuda(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(device)),
      "copying"));
  return wait_for(device);
}

}  // namespace

void DeviceBuffer::Free::operator()(void* data) const {
  cudaFreeAsync(data, stream_of(device));
}

Result<DeviceBuffer> DeviceBuffer::create(std::size_t bytes,
                                          const Device& device) try {
  HEADWISE_TRY(check_device(device));
  DeviceBuffer buffer;
  buffer.bytes_ = bytes;
  void* data = nullptr;
  if (bytes != 0) {
    HEADWISE_TRY(cuda::check_cuda(
        cudaMallocAsync(&data, bytes, stream_of(device)), "taking memory"));
  }
  buffer.data_ = {data, Free{device}};
  return buffer;
} catch (...) {
  return caught_out_of_memory();
}

Status DeviceBuffer::copy_from(std::span<const std::byte> from) try {
  if (Status s = check_bytes(from.size(), bytes_); !s || bytes_ == 0) {
    return s;
  }
  return copy(data(), from.data(), bytes_, data_.get_deleter().device);
} catch (...) {
  return caught_out_of_memory();
}

Status DeviceBuffer::copy_to(std::span<std::byte> to) const try {
  if (Status s = check_bytes(to.size(), bytes_); !s || bytes_ == 0) {
    return s;
  }
  return copy(to.data(), data(), bytes_, data_.get_deleter().device);
} catch (...) {
  return caught_out_of_memory();
}

Status wait_for(const Device& device) try {
  HEADWISE_TRY(check_device(device));
  return cuda::check_cuda(cudaStreamSynchronize(stream_of(device)),
                          "the work in the stream");
} catch (...) {
  return caught_out_of_memory();
}

Result<std::string> name_of(const Device& device) try {
  HEADWISE_TRY(check_device(device));
  cudaDeviceProp properties{};
  int index = 0;
  cudaGetDevice(&index);
  HEADWISE_TRY(cuda::check_cuda(cudaGetDeviceProperties(&properties, index),
                                "asking its name"));
  return std::string(properties.name);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
