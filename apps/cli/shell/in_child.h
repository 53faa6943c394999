// Work that may abort the process that does it: librsvg and GLib end theirs
// where memory or threads run out.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// What `work`, which is called in a process of its own, returns. Of an error
// its code and its operation, `given` and `expected` come back. Errors also:
// out_of_memory when the process ends without a result or cannot be started.
Result<std::vector<std::byte>> in_child(
    const std::function<Result<std::vector<std::byte>>()>& work);

}  // namespace headwise::cli
