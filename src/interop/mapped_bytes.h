// The bytes of a regular file as memory, for other components.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "interop/input_file.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Calls `use` with all bytes of `file`, which has a size. They are there until
// it returns.
Status with_mapped_bytes(InputFile file,
                         FunctionRef<void(std::span<const std::byte>)> use);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
