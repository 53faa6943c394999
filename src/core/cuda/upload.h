// Lists of a plan, gathered on the host and copied to the device at once.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "cuda/device_memory.h"

namespace headwise::inline HEADWISE_ABI::cuda {

class Upload {
 public:
  // Where the list will be, in bytes; it may be empty.
  template <class T>
  std::size_t add(const std::vector<T>& list) {
    const std::size_t at = (bytes_.size() + 15) / 16 * 16;
    bytes_.resize(at + list.size() * sizeof(T));
    if (!list.empty()) {
      std::memcpy(bytes_.data() + at, list.data(), list.size() * sizeof(T));
    }
    return at;
  }

  Result<DeviceMemory> copy(cudaStream_t stream) const {
    auto memory = DeviceMemory::create(bytes_.size(), stream);
    if (!memory || bytes_.empty()) {
      return memory;
    }
    HEADWISE_TRY(
        check_cuda(cudaMemcpyAsync(memory->data(), bytes_.data(), bytes_.size(),
                                   cudaMemcpyHostToDevice, stream),
                   "copying the lists of a plan"));
    return memory;
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace headwise::inline HEADWISE_ABI::cuda
