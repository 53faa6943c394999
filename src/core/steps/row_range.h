// Some of the rows of a parameter.
#pragma once

#include <cstddef>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct RowRange {
  std::size_t first = 0;
  std::size_t count = 0;

  std::size_t end() const { return first + count; }
  bool contains(std::size_t row) const { return row >= first && row < end(); }
  bool operator==(const RowRange&) const = default;
};

}  // namespace headwise::inline HEADWISE_ABI
