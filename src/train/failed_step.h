// The error of a training step, with the number of the step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The same error, of this step of a training run: `train: step 7: the loss is
// nan`; `where` follows the number.
inline Error failed_step(std::uint64_t step, const std::string& where,
                         const Error& error) {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  ErrorDetails details = error.details();
  const std::string inner =
      details.operation.empty() ? "" : ": " + details.operation;
  details.operation = "train: step " + std::to_string(step) + where + inner;
  return {error.code(), std::move(details)};
}

}  // namespace headwise::inline HEADWISE_ABI
