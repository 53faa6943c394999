// Finds out what kind of file a tokenizer is in, and reads it.
#pragma once

#include <cstddef>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Files other than GGUF have less.
inline constexpr std::size_t kMostTokenizerBytes = std::size_t{256} << 20U;

// `path`: a file, or a folder with one. What is in the file says its kind.
// Errors: io_error; bad_data, for a folder with none, too; unsupported.
Result<TokenizerSpec> read_tokenizer_spec(const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
