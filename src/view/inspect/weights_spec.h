// A call of attention whose attention weights are known: its sizes and its
// statistics, without queries and keys.
#pragma once

#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// attn_weights (B, Hq, Lq, Lkv). Of the options only mask, query_start,
// executor and statistics count. Errors: those of AttentionSpec::create(), and
// bad_data for a weight that is negative or not finite.
Result<AttentionSpec> weights_spec(TensorView<const float, 4> attn_weights,
                                   const AttentionOptions& options,
                                   const OperationOptions& operation_options,
                                   std::string_view operation);

// The statistics that such a spec asks for. Errors: out_of_memory.
Result<AttentionStatistics> weights_statistics(
    TensorView<const float, 4> attn_weights, const AttentionSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI
