// Takes many bytes from a source that may not have as many as it was said to.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "interop/input_file.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The next `count` bytes of `source`; fewer only where they end. Memory for all
// of them is taken at once only if they are `certain` to be there, otherwise as
// they come.
Result<AlignedBytes> read_bytes(ByteSource& source, std::size_t count,
                                bool certain);
// All of `file`. Errors: bad_data if it has more than `most` bytes.
Result<AlignedBytes> read_at_most(InputFile& file, std::size_t most);

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
