// What norms and their backward passes are given, checked.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/steps/layer_norm.h"
#include "kernels/layer_norm.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: invalid_argument for an eps that is not a positive number in
// binary32.
Status check_norm_eps(std::string_view operation, double eps,
                      std::string_view name = "eps");

// Views of `params` that rows of E features can be normalised by. Errors:
// shape_mismatch; invalid_argument for the eps.
Result<kernels::LayerNormTerms> layer_norm_terms(std::string_view operation,
                                                 const LayerNormParams& params,
                                                 std::size_t E);

}  // namespace headwise::inline HEADWISE_ABI
