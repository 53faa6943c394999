// The files of apps/cli/examples, built into the program.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace headwise::cli {

// The bytes of examples/NAME, which ends in .npy; empty for a name that is
// none.
std::span<const std::byte> example_file(std::string_view name);

}  // namespace headwise::cli
