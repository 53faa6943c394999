// The search of most_heads_within().
#pragma once

#include <cstddef>
#include <functional>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The largest number n of `total` heads for which accuracy_without(n) is at
// most `drop` below accuracy_without(0), both from 0 to 1. The search goes up
// in steps of a twentieth to the first count beyond the drop, then by single
// heads below it. Errors: those of accuracy_without.
Result<std::size_t> most_heads_within(
    double drop, std::size_t total,
    const std::function<Result<double>(std::size_t)>& accuracy_without);

}  // namespace headwise::inline HEADWISE_ABI
