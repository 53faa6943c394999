// The loop that most steps share: every row (b, h, i) of the scores, spread
// over the threads.
#pragma once

#include <array>
#include <cstddef>

#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// sums[n] += factor * row[n]; at most `Most`, which a compiler unrolls.
template <std::size_t Most>
inline void add_row(float (&sums)[Most], float factor, const float* row,
                    std::size_t count) {
  if (count == Most) {
    for (std::size_t n = 0; n < Most; ++n) {
      sums[n] += factor * row[n];
    }
    return;
  }
  for (std::size_t n = 0; n < count; ++n) {
    sums[n] += factor * row[n];
  }
}

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
