// An error as bytes, on its way to another rank.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Success is no bytes.
std::string bytes_of(const Status& status);
// Errors: those of the other rank; bad_data for bytes that are none of
// bytes_of().
Status status_of(std::string_view bytes);

}  // namespace headwise::inline HEADWISE_ABI
