// Memory on the device that belongs to one stream: taken and given back in the
// stream's order, so that work under way still has it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "cuda/check_cuda.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Errors: out_of_memory, device_error.
  static Result<DeviceMemory> create(std::size_t bytes, cudaStream_t stream) {
    DeviceMemory memory;
    memory.stream_ = stream;
    if (bytes != 0) {
      if (Status s = check_cuda(cudaMallocAsync(&memory.data_, bytes, stream),
                                "taking memory");
          !s) {
        memory.data_ = nullptr;
        return s.error();
      }
    }
    return memory;
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ != nullptr) {
      cudaFreeAsync(data_, stream_);
    }
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace headwise::inline HEADWISE_ABI::cuda
