// Rows of features (N, E) whose elements lie side by side: what an encoder's
// steps between its projections take one by one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: shape_mismatch unless `rows` has the extents (N, E);
// invalid_argument unless its elements lie side by side. `name` is what
// messages call it.
Status check_feature_rows(std::string_view operation, std::string_view name,
                          const TensorView<const float, 2>& rows,
                          const Extents<2>& expected);

// Calls body(n) once for each row that has elements, in the environment of
// docs/arithmetic.md.
template <class Body>
void for_each_feature_row(const Executor& executor, const Extents<2>& extents,
                          const Body& body) {
  const auto [N, E] = extents;
  if (E == 0) {
    return;
  }
  constexpr std::size_t kElementsAtLeast = 16384;  // less is not worth a thread
  executor.parallel_for(N, std::max<std::size_t>(1, kElementsAtLeast / E),
                        [&](std::size_t begin, std::size_t end) {
                          const FloatEnvironment environment;
                          for (std::size_t n = begin; n < end; ++n) {
                            body(n);
                          }
                        });
}

}  // namespace headwise::inline HEADWISE_ABI
