// What every rank checks of a ContextCall, and compares with the others.
#pragma once

#include <cstddef>
#include <string_view>

#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_attention.h"

namespace headwise::inline HEADWISE_ABI {

struct CheckedContext {
  AttentionSpec spec;
  Shards shards;
};

// `in_parts`: keys or queries come in parts. Errors: those of
// context_attention() that one rank finds alone.
Result<CheckedContext> checked_context(std::string_view operation,
                                       const ContextCall& call,
                                       std::size_t ranks, bool in_parts);

// Errors, on every rank: invalid_argument for different calls.
Status check_same_context(Communicator& group, DType type,
                          const ContextCall& call, const CheckedContext& all);

}  // namespace headwise::inline HEADWISE_ABI
