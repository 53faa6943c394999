// The parameters of a norm of queries or keys.
#pragma once

#include <cstddef>

#include "headwise/steps/norm_heads.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The number of weights for H heads of size D.
std::size_t norm_params(NormOver over, std::size_t H, std::size_t D);

}  // namespace headwise::inline HEADWISE_ABI
