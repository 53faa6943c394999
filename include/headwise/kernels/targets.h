// The instruction sets that the kernels can use on this processor.
//
// The environment variable HEADWISE_TARGET forces one, by the names below.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Those that are built into the library and available on the processor, by
// Highway's names in lower case ("avx3", "avx2", "neon", ...), best first.
std::vector<std::string> available_targets();

// The one in use: the best, or the forced one. Errors: unsupported if
// HEADWISE_TARGET names one that is not available; the message lists those that
// are.
Result<std::string> current_target();

// Returns only the errors of current_target(). Cheap enough for every call.
Status check_target();

// Whether the kernels of `target` keep the promise of the same bits
// (docs/arithmetic.md): those with fused multiply-add do.
bool promises_same_bits(const std::string& target);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
