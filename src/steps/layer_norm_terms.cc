#include "steps/layer_norm_terms.h"

#include <limits>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Result<kernels::LayerNormTerms> layer_norm_terms(std::string_view operation,
                                                 const LayerNormParams& params,
                                                 std::size_t E) {
  HEADWISE_TRY(
      check_shape(operation, "weight", params.weight.extents(), "(E)", {{E}}));
  HEADWISE_TRY(
      check_shape(operation, "bias", params.bias.extents(), "(E)", {{E}}));
  // A denormal number would be flushed to 0.
  if (!(params.eps >= std::numeric_limits<float>::min() &&
        params.eps <= std::numeric_limits<float>::max())) {
    return value_error(operation, "eps", number_text(params.eps),
                       "a positive binary32 number");
  }
  return kernels::LayerNormTerms{params.weight.data(), params.bias.data(),
                                 static_cast<float>(params.eps), E};
}

}  // namespace headwise::inline HEADWISE_ABI
