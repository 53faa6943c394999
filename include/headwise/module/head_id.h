// One head of a model with several layers.
#pragma once

#include <compare>
#include <cstddef>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Both count from 0. `head` is the number before any head was pruned.
struct HeadId {
  std::size_t layer = 0;
  std::size_t head = 0;

  auto operator<=>(const HeadId&) const = default;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
