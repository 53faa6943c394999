// The current GPU, if there is one.
#pragma once

#include <string_view>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI::cuda {

struct Gpu {
  int index;
  int major;  // compute capability
  int minor;
  int multiprocessors;
};

// Errors: unsupported where there is none, device_error; the message begins
// with `operation`, such as "attention: ".
Result<Gpu> find_gpu(std::string_view operation);

}  // namespace headwise::inline HEADWISE_ABI::cuda
