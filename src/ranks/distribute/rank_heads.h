// Which heads of a call each rank computes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "distribute/shards.h"
#include "headwise/base/result.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Consecutive key heads, and the query heads that read them.
struct RankHeads {
  std::vector<PartRange> query;
  std::vector<PartRange> key;
};

// Those of a plan by heads. Errors: invalid_argument unless each head belongs
// to one rank, with the key head that it reads.
Result<RankHeads> heads_of(const ShardPlan& plan, std::size_t ranks,
                           const AttentionShape& shape,
                           std::string_view operation);

// Those of the plan that plan_shards() makes.
RankHeads planned_heads(const AttentionShape& shape, std::size_t ranks);

}  // namespace headwise::inline HEADWISE_ABI
