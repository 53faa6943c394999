// The error of a training step, with the number of the step.
#pragma once

#include <cstdint>
#include <string>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// `train: step 7: the loss is nan`; `where` follows the number.
inline Error failed_step(std::uint64_t step, const std::string& where,
                         const Error& error) {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  return {error.code(),
          ErrorDetails{.operation = "train",
                       .entry = "step " + std::to_string(step) + where,
                       .given = error.message()}};
}

}  // namespace headwise::inline HEADWISE_ABI
