// The index of a model in several safetensors files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {

// The name of the shard of each tensor: NAME.safetensors, no path. Errors begin
// with `subject`.
Result<std::map<std::string, std::string, std::less<>>> parse_safetensors_index(
    std::string_view text, const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI
