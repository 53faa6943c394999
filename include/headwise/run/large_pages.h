// Large pages for large tensors: their first use then costs one fault of the
// processor for 2 MiB instead of 512.
#pragma once

#include <cstddef>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Asks the system for large pages, for memory that has not been written to yet.
// If there are none, nothing happens.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
