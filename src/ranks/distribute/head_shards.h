// Shards by heads: which heads each rank has.
#pragma once

#include <vector>

#include "headwise/distribute/shard_plan.h"

namespace headwise::inline HEADWISE_ABI {

// The key heads of each rank, for a request that was checked.
std::vector<HeadRange> head_shards(const ShardRequest& request);

}  // namespace headwise::inline HEADWISE_ABI
