// Atomic writes of files whose names the library chooses. A symbolic link that
// has such a name is replaced and never followed: it is not the user's.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: those of write_file_atomically(), and for a pipe or a device.
Status write_own_file(const std::string& path, std::string_view text);

// The same in a folder to which other machines write, too. Leaves the leftovers
// there: where locks are local to a machine, the file that another one is
// writing looks like one.
Status write_file_among_others(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces);

}  // namespace headwise::inline HEADWISE_ABI
