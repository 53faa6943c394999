// Where a call runs: on the CPU, or in a stream of the current CUDA device.
//
// Example:
//   attention(q, k, v, {.output = out}, {}, {.device = Device::cuda(stream)});
#pragma once

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Device {
  enum class Kind { cpu, cuda };

  Kind kind = Kind::cpu;
  // A cudaStream_t; null: the default stream. Calls put work into it and do not
  // wait for it.
  void* stream = nullptr;

  static Device cuda(void* stream = nullptr) { return {Kind::cuda, stream}; }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
