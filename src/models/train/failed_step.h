// The error of a training step, with the number of the step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The same error, of this step of a training run: `train: step 7: the loss is
// nan`. `model` says which one took the step, where there are several.
inline Error failed_step(std::uint64_t step, const Error& error,
                         std::string model = {}) {
  if (error.code() == ErrorCode::out_of_memory ||
      error.code() == ErrorCode::rank_failure) {  // which names the step
    return error;
  }
  ErrorDetails details = error.details();
  std::string place = "train: step " + std::to_string(step);
  for (const std::string& part : {model, details.operation}) {
    place += (part.empty() ? "" : ": ") + part;
  }
  details.operation = std::move(place);
  return {error.code(), std::move(details)};
}

}  // namespace headwise::inline HEADWISE_ABI
