// The attention weights of a call, a few queries at a time, so that no matrix
// of all pairs is kept.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// The queries of a tile of attention().
inline constexpr std::size_t kTileQueries = 48;

// What the heads of a call compare. Its options are those of one sequence.
struct WeighedHeads {
  TensorView<const float, 4> query;  // (B, L, Hq, D)
  TensorView<const float, 4> key;    // (B, Lkv, Hkv, D)
  const AttentionOptions& options;
  const OperationOptions& operation_options;
};

// Of the queries [first, first + count): (B, Hq, count, Lkv), with a column for
// each added key and the bits of a call with all queries; in `memory` if that
// is large enough. Errors: those of attention().
Result<Tensor<float, 4>> weights_of_queries(const WeighedHeads& heads,
                                            std::size_t first,
                                            std::size_t count,
                                            Tensor<float, 4> memory = {});

// All queries, tile by tile: those from `first` on. An error of `see` ends the
// walk. Errors: those of attention() and of `see`.
Status for_weight_rows(
    const WeighedHeads& heads,
    FunctionRef<Status(std::size_t first, TensorView<const float, 4> weights)>
        see);

}  // namespace headwise::inline HEADWISE_ABI
