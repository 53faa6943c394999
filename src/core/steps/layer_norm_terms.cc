#include "steps/layer_norm_terms.h"

#include <limits>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Status check_norm_eps(std::string_view operation, double eps,
                      std::string_view name) {
  // A denormal number would be flushed to 0.
  return eps >= std::numeric_limits<float>::min() &&
                 eps <= std::numeric_limits<float>::max()
             ? ok()
             : Status(value_error(operation, name, number_text(eps),
                                  "a positive binary32 number"));
}

Result<kernels::LayerNormTerms> layer_norm_terms(std::string_view operation,
                                                 const LayerNormParams& params,
                                                 std::size_t E) {
  HEADWISE_TRY(
      check_shape(operation, "weight", params.weight.extents(), "(E)", {{E}}));
  HEADWISE_TRY(
      check_shape(operation, "bias", params.bias.extents(), "(E)", {{E}}));
  HEADWISE_TRY(check_norm_eps(operation, params.eps));
  return kernels::LayerNormTerms{params.weight.data(), params.bias.data(),
                                 static_cast<float>(params.eps), E,
                                 params.centred};
}

}  // namespace headwise::inline HEADWISE_ABI
