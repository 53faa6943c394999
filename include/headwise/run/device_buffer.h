// Memory on a GPU, for programs that have no other way to get it.
//
// Example:
//   DeviceBuffer q = DeviceBuffer::create(bytes, Device::cuda()).value();
//   Status s = q.copy_from(std::as_bytes(std::span(numbers)));
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Where a call runs: on the CPU, or in a stream of the current CUDA device.
//
// Example:
//   attention(q, k, v, {.output = out}, {}, {.device = Device::cuda(stream)});

struct Device {
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;
  // A cudaStream_t; null: the default stream. Calls put work into it and do not
  // wait for it.
  void* stream = nullptr;

  static Device cuda(void* stream = nullptr) { return {Kind::cuda, stream}; }
};

class DeviceBuffer {
 public:
  DeviceBuffer() = default;  // none
  // Errors: unsupported if there is no such device; out_of_memory,
  // device_error.
  static Result<DeviceBuffer> create(std::size_t bytes, const Device& device);

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  // Copies as many bytes as the buffer has, after all earlier work in the
  // device's stream, and waits until it is done. Errors: invalid_argument,
  // device_error.
  Status copy_from(std::span<const std::byte> from);
  Status copy_to(std::span<std::byte> to) const;

 private:
  struct Free {
    Device device;
    void operator()(void* data) const;
  };

  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

// Waits until everything in the device's stream is done. Errors: unsupported,
// device_error.
Status wait_for(const Device& device);
// The device's name. Errors: unsupported, device_error.
Result<std::string> name_of(const Device& device);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
