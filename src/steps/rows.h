// The loop that most steps share: every row (b, h, i) of the scores, spread
// over the threads.
#pragma once

#include <array>
#include <cstddef>

#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// Calls body(b, h, i) once for each row; `extents` are B, Hq, Lq. A tensor
// whose rows are empty may have any number of them: its caller returns first.
template <class Body>
void for_each_row(const Executor& executor,
                  const std::array<std::size_t, 3>& extents, const Body& body) {
  const auto [B, Hq, Lq] = extents;
  constexpr std::size_t kRowsAtLeast = 16;
  executor.parallel_for(
      B * Hq * Lq, kRowsAtLeast,
      [&, heads = Hq, rows = Lq](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          body(row / rows / heads, row / rows % heads, row % rows);
        }
      });
}

}  // namespace headwise::inline HEADWISE_ABI
