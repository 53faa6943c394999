// Part of what identifies a model.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The SHA-256 of the parameter file; for several files, that of their digests
// one after another.
Result<std::string> digest_of_params(const SentenceEncoder& encoder);

}  // namespace headwise::inline HEADWISE_ABI
