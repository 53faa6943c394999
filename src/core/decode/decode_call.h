// Attention of new queries over what a cache holds, whose tokens are there
// already.
#pragma once

#include <cstddef>
#include <span>

#include "decode/cache_state.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodeCall {
  const AttentionSpec& spec;  // ragged keys: those of the sequences
  const CacheState& cache;
  std::span<const SequenceId> ids;  // (B)
  const CallTensors& tensors;  // key and value: of the new tokens, not read
  std::size_t first_head = 0;  // of the cache, where key head 0 is
};

}  // namespace headwise::inline HEADWISE_ABI
