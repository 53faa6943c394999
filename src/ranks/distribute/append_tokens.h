// The new tokens of a step: each rank stores those of its shares.
#pragma once

#include "distribute/context_step.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: out_of_range if this rank has too few free pages.
template <class T>
Status check_room(const ContextCacheState& state, const ContextStep<T>& step);

// Also counts the tokens that other ranks store. Errors: those of
// KvCache::append().
template <class T>
Status append_tokens(ContextCacheState& state, const ContextStep<T>& step);

}  // namespace headwise::inline HEADWISE_ABI
