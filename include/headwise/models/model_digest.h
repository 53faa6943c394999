// What identifies a model and its files: digests of what its results depend on.
//
// Errors: io_error, and those of opening the parameters; out_of_memory.
//
// Example:
//   SentenceEncoder encoder = SentenceEncoder::read("model").value();
//   std::string digest = digest_of_params(encoder).value();
#pragma once

#include <cstddef>
#include <string>

#include "headwise/base/result.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The SHA-256 of the parameter file; for several files, that of their digests
// one after another.
Result<std::string> digest_of_params(const SentenceEncoder& encoder);

// The SHA-256 of everything that the results of the model in `folder` depend
// on: parameters, settings, vocabulary and classifier, each with its name.
Result<std::string> digest_of_model(const std::string& folder,
                                    const SentenceEncoder& encoder);

// The size of the parameter files in a folder, in bytes.
Result<std::size_t> params_bytes(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
