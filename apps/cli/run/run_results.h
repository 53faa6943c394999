// The files that `headwise run` writes.
#pragma once

#include "headwise/base/result.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// In --present-dir.
inline constexpr const char* kPresentKey = "key.npy";
inline constexpr const char* kPresentValue = "value.npy";

// `batched`: whether the input files have an axis B. Errors: io_error.
Status write_results(const RunFlags& flags, const RunResult& result,
                     bool batched);

}  // namespace headwise::cli
