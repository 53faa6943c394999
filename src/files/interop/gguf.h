// GGUF, the files of llama.cpp: their metadata by key, which come before the
// tensors. Little-endian, versions 2 and 3.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/json/json.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

inline constexpr std::string_view kGgufMagic = "GGUF";

// An object. Errors: bad_data; unsupported for other versions and byte orders,
// for lists of lists and for thousands of keys.
Result<Json> read_gguf_metadata(std::string_view bytes,
                                const FileSubject& subject);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
