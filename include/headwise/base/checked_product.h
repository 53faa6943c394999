// Products of sizes from untrusted input: an overflow is reported and never
// wraps around to a small number.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The product of `factors`, or nothing if it does not fit in size_t. If one of
// them is 0 the product is 0, whatever the others are.
constexpr std::optional<std::size_t> checked_product(
    std::span<const std::size_t> factors) {
  for (const std::size_t factor : factors) {
    if (factor == 0) {
      return 0;
    }
  }
  std::size_t product = 1;
  for (const std::size_t factor : factors) {
    if (product > std::numeric_limits<std::size_t>::max() / factor) {
      return std::nullopt;
    }
    product *= factor;
  }
  return product;
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
