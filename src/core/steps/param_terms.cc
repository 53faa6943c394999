#include "headwise/steps/param_terms.h"

namespace headwise::inline HEADWISE_ABI {

ParamTerms::~ParamTerms() = default;

}  // namespace headwise::inline HEADWISE_ABI
