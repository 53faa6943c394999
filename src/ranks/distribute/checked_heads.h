// What every rank checks of a HeadsCall, and compares with the others.
#pragma once

#include <cstddef>
#include <string_view>

#include "distribute/rank_heads.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/heads_attention.h"

namespace headwise::inline HEADWISE_ABI {

struct CheckedHeads {
  AttentionSpec spec;
  Shards shards;
  RankHeads heads;
};

// What no rank has of its heads alone. Errors: unsupported.
Status check_options_by_heads(std::string_view operation,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options);

// Errors: those of heads_attention() that one rank finds alone.
Result<CheckedHeads> checked_heads(std::string_view operation,
                                   const HeadsCall& call, std::size_t ranks);

// The attention weights or scores of a rank's heads. `expected`: the options
// ask for them. Errors: invalid_argument, shape_mismatch.
Status check_pairs(std::string_view operation, std::string_view argument,
                   const CheckedHeads& all, std::size_t rank,
                   const TensorView<const float, 4>& given, bool expected);

// Errors, on every rank: invalid_argument for different calls.
Status check_same_heads(Communicator& group, DType type,
                        const CheckedHeads& all);

}  // namespace headwise::inline HEADWISE_ABI
