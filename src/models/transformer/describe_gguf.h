// The description of a model in a GGUF file: that of its family, with the names
// and forms that llama.cpp gives its tensors.
#pragma once

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/param_file.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// `file` is a GGUF. Errors: bad_data; unsupported for an architecture or a
// setting that is not known.
Result<Description> describe_gguf(const ParamFile& file);

}  // namespace headwise::inline HEADWISE_ABI::transformer
