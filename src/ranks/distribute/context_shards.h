// Shards by context: which tokens each rank has.
#pragma once

#include <vector>

#include "headwise/distribute/shard_plan.h"

namespace headwise::inline HEADWISE_ABI {

struct ContextShards {
  std::vector<OwnedPiece> queries;
  std::vector<OwnedPiece> keys;
};

// For a request that was checked.
ContextShards context_shards(const ShardRequest& request);

}  // namespace headwise::inline HEADWISE_ABI
