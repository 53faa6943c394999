// Attention of new queries over what a cache holds, whose tokens are there
// already.
#pragma once

#include <span>

#include "attention/call_views.h"
#include "decode/cache_state.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodeCall {
  const AttentionSpec& spec;  // ragged keys: those of the sequences
  const CacheState& cache;
  std::span<const SequenceId> ids;  // (B)
  const CallInputs& inputs;         // only the query has a view
  const CallOutputs& outputs;
};

}  // namespace headwise::inline HEADWISE_ABI
