// An error as bytes, on its way to another rank.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

// headwise::mpi calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Empty for success.
std::string bytes_of_status(const Status& status);
// Errors: those of the other rank; bad_data for bytes that are none of
// bytes_of_status().
Status status_of(std::string_view bytes);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
