// How many heads to remove, as the options say.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "prune_flags.h"

namespace headwise::cli {

// Of --keep or --remove. Errors: invalid_argument for more heads than there
// are, and for text that is neither a number nor a share of 100.
Result<std::size_t> count_to_remove(const PruneFlags& flags, std::size_t total);

// The number in --max-drop, as a share of 1. Errors: invalid_argument.
Result<double> largest_drop(const PruneFlags& flags);

}  // namespace headwise::cli
