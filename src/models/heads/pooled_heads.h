// The statistics of a layer's heads in one text.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// query (1, L, Hq, D), key (1, L, Hkv, D); `separators` (1, L), or no view.
// Errors: those of attention_statistics().
Result<PooledStatistics> pooled_statistics(TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           TensorView<const bool, 2> separators,
                                           const AttentionOptions& options);

// The same with NaN where leave_out_unknown() has it.
Result<PooledStatistics> known_statistics(TensorView<const float, 4> query,
                                          TensorView<const float, 4> key,
                                          TensorView<const bool, 2> separators,
                                          const AttentionOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
