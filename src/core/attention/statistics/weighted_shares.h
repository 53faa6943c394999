// attention() and, from the same scores, the statistics of its weights times a
// number per key (heads/norm_statistics.h).
#pragma once

#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

// headwise::io calls this, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

struct WeightedShares {
  Tensor<float, 3> sums;  // (B, Lq, Hq); 0 for a query without a key
  AttentionStatistics shares;
  AttentionStatistics weights{};  // where they are wanted
};

// Whose statistics are computed.
enum class StatisticsOf { shares, shares_and_weights };

// `numbers` (B, Hq, Lkv), one below 2^-60 counts as that; the statistics asked
// for are those of the shares and, where wanted, of the weights, and their rows
// are always there.
//
// Errors: those of attention(); shape_mismatch for numbers that do not fit;
// unsupported for columns and maps, and for queries that are padded beside keys
// that are not.
Result<WeightedShares> attention_with_shares(
    std::string_view operation, const AttentionInputsOf<float>& inputs,
    TensorView<const float, 3> numbers, const AttentionOutputs& outputs,
    const AttentionOptions& options, const OperationOptions& operation_options,
    StatisticsOf wanted = StatisticsOf::shares);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
