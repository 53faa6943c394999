// Pairs rows with columns, one to one, so that the gains of the pairs have the
// largest sum.
//
//   gains (n, m)   finite
//
// The time grows with min(n, m)^2 max(n, m).
//
// Source: the Hungarian method, Kuhn 1955, Naval Research Logistics Quarterly
// 2; by shortest augmenting paths, Jonker and Volgenant 1987, Computing 38.
//
// Example:
//   // gains {{3, 2}, {2, 0}}: row 0 gets column 1, row 1 gets column 0
//   std::vector<std::optional<std::size_t>> columns = best_assignment(gains);
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The column of each row; none for n - m of the rows, if n > m.
std::vector<std::optional<std::size_t>> best_assignment(
    TensorView<const double, 2> gains);

}  // namespace headwise::inline HEADWISE_ABI
