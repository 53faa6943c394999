// Takes many bytes from a source that may not have as many as it was said to.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "interop/byte_source.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The next `count` bytes of `source`; fewer only where they end. Memory for all
// of them is taken at once only if they are `certain` to be there, otherwise as
// they come.
Result<AlignedBytes> read_bytes(ByteSource& source, std::size_t count,
                                bool certain);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
