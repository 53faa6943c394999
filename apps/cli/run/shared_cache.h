// --cache paged --parallel: a cache that all ranks share.
#pragma once

#include <vector>

#include "cache_flags.h"
#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_cache.h"
#include "headwise/steps/shape.h"

namespace headwise::cli {

// With room for all tokens of the call.
struct SharedSequences {
  ContextCache cache;
  std::vector<SequenceId> ids{};

  // All ranks call it. Errors: those of ContextCache; out_of_memory of one rank
  // on all; invalid_argument, on all, for ranks that were given calls of
  // different sizes or chunks.
  static Result<SharedSequences> create(Communicator& group,
                                        const CacheFlags& flags,
                                        const AttentionShape& shape);
};

}  // namespace headwise::cli
