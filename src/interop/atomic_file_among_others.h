// Atomic writes to a folder to which other machines write, too.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// write_file_atomically(), which leaves the leftovers in the folder: where
// locks are local to a machine, the file that another one is writing looks like
// one.
Status write_file_among_others(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces);

}  // namespace headwise::inline HEADWISE_ABI
