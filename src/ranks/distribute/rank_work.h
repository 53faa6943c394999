// What a plan gives to each rank.
#pragma once

#include <span>
#include <vector>

#include "headwise/distribute/shard_plan.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The number of pairs of query and key that each rank computes, counted once
// per query head: its work. For a plan of the request.
std::vector<double> work_of_ranks(const ShardRequest& request,
                                  const ShardPlan& plan);
// The largest work of a rank divided by the mean, minus 1; 0 without work.
double imbalance_of(std::span<const double> work);

}  // namespace headwise::inline HEADWISE_ABI
