// What a model's files say about generating.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/generate/text_generator.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// `path`: a folder with config.json, or a GGUF file. Errors: io_error,
// bad_data.
Result<GenerationSettings> read_generation_settings(
    const std::string& path, const TransformerShape& shape);

}  // namespace headwise::inline HEADWISE_ABI
