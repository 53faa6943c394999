// Elements of a tensor in a file of their own, next to the model.
//
// Only regular files in the folder of the model, or in folders in it: no
// absolute path, no "..", no symbolic link on the way, no second name of the
// file elsewhere (a hard link).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {

// `place` has ONNX's keys location, offset and length. Errors: bad_data,
// io_error, out_of_memory.
Result<AlignedBytes> read_external(
    std::span<const std::pair<std::string_view, std::string_view>> place,
    std::size_t bytes, const FileSubject& subject,
    const std::optional<std::string>& folder);

}  // namespace headwise::inline HEADWISE_ABI
