// How many heads go.
#pragma once

#include <cstddef>
#include <functional>

#include "headwise/base/result.h"
#include "prune_flags.h"

namespace headwise::cli {

// Of --keep or --remove. Errors: invalid_argument for more heads than there
// are, and for text that is neither a number nor a share of 100.
Result<std::size_t> count_to_remove(const PruneFlags& flags, std::size_t total);

// The number in --max-drop, as a share of 1. Errors: invalid_argument.
Result<double> largest_drop(const PruneFlags& flags);

// The most of `total` heads of which accuracy_without(n) is no more than `drop`
// below accuracy_without(0): steps of a twentieth, up to the first that is
// beyond, and single heads before that. Errors: those of accuracy_without.
Result<std::size_t> most_within(
    double drop, std::size_t total,
    const std::function<Result<double>(std::size_t)>& accuracy_without);

}  // namespace headwise::cli
