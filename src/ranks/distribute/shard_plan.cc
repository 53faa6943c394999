#include "headwise/distribute/shard_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/context_shards.h"
#include "distribute/head_shards.h"
#include "distribute/rank_work.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kShardPlan = "plan_shards";
constexpr std::size_t kMostHeads = std::size_t{1} << 20;

Status check_request_number(std::string_view argument, std::size_t number,
                            std::size_t least, std::size_t most) {
  return number >= least && number <= most
             ? ok()
             : Status(
                   value_error(kShardPlan, argument, std::to_string(number),
                               message("a number from {} to {}", least, most),
                               ErrorCode::out_of_range));
}

Status check_heads(const ShardRequest& request) {
  HEADWISE_TRY(check_request_number("heads", request.heads, 1, kMostHeads));
  HEADWISE_TRY(
      check_request_number("kv_heads", request.kv_heads, 1, kMostHeads));
  if (request.kv_groups.even() && request.heads % request.kv_heads != 0) {
    return value_error(
        kShardPlan, "heads", std::to_string(request.heads),
        message("a multiple of kv_heads = {}", request.kv_heads));
  }
  return request.kv_groups.check(request.heads, request.kv_heads, kShardPlan);
}

// `left` is the number of pairs that the sequences before it leave.
Status check_sequence(const PlannedSequence& sequence, std::size_t s,
                      std::uint64_t& left) {
  const std::string name = "sequences[" + std::to_string(s) + "]";
  constexpr auto kMost = static_cast<std::size_t>(KeyBand::kMost);
  HEADWISE_TRY(
      check_request_number(name + ".queries", sequence.queries, 0, kMost));
  HEADWISE_TRY(check_request_number(name + ".keys", sequence.keys, 0, kMost));
  if (sequence.query_start < -KeyBand::kMost ||
      sequence.query_start > KeyBand::kMost) {
    return value_error(
        kShardPlan, name + ".query_start", std::to_string(sequence.query_start),
        message("a number from {} to {}", -KeyBand::kMost, KeyBand::kMost),
        ErrorCode::out_of_range);
  }
  if (sequence.keys != 0 && sequence.queries > left / sequence.keys) {
    return argument_error(
        kShardPlan, name,
        message("has {} queries and {} keys", sequence.queries, sequence.keys),
        message("at most {} pairs of a query and a key in all sequences",
                kMostPairs),
        ErrorCode::out_of_range);
  }
  left -= std::uint64_t{sequence.queries} * sequence.keys;
  return ok();
}

Status check_request(const ShardRequest& request) {
  HEADWISE_TRY(check_request_number("ranks", request.ranks, 1, kMostRanks));
  HEADWISE_TRY(check_request_number("pieces_per_rank", request.pieces_per_rank,
                                    0, kMostPiecesPerRank));
  HEADWISE_TRY(check_heads(request));
  HEADWISE_TRY(request.band.check(kShardPlan));
  std::uint64_t left = kMostPairs;
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    HEADWISE_TRY(check_sequence(request.sequences[s], s, left));
  }
  return ok();
}

ShardPlan plan_by_context(const ShardRequest& request) {
  ContextShards shards = context_shards(request);
  ShardPlan plan = {.parallel = Parallel::context,
                    .ranks = std::vector<RankShare>(request.ranks),
                    .queries = std::move(shards.queries),
                    .keys = std::move(shards.keys)};
  for (RankShare& share : plan.ranks) {
    share.heads = {0, request.heads};
    share.kv_heads = {0, request.kv_heads};
  }
  for (const OwnedPiece& one : plan.queries) {
    plan.ranks[one.rank].queries.push_back(one.piece);
  }
  for (const OwnedPiece& one : plan.keys) {
    plan.ranks[one.rank].keys.push_back(one.piece);
  }
  return plan;
}

ShardPlan plan_by_heads(const ShardRequest& request) {
  const HeadMap map(request.heads, request.kv_heads, request.kv_groups);
  RankShare all;
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    const PlannedSequence& sequence = request.sequences[s];
    if (sequence.queries != 0) {
      all.queries.push_back({s, sequence.all_queries()});
    }
    if (sequence.keys != 0) {
      all.keys.push_back({s, sequence.all_keys()});
    }
  }
  ShardPlan plan = {.parallel = Parallel::heads};
  for (const HeadRange& kv_heads : head_shards(request)) {
    RankShare& share =
        plan.ranks.emplace_back(kv_heads.count == 0 ? RankShare() : all);
    const std::size_t first = map.first(kv_heads.first);
    share.heads = {first, map.first(kv_heads.first + kv_heads.count) - first};
    share.kv_heads = kv_heads;
  }
  return plan;
}

ShardPlan plan_better(const ShardRequest& request) {
  ShardPlan by_context = plan_by_context(request);
  if (request.kv_heads < request.ranks) {
    return by_context;
  }
  ShardPlan by_heads = plan_by_heads(request);
  return imbalance_of(work_of_ranks(request, by_heads)) <=
                 imbalance_of(work_of_ranks(request, by_context))
             ? by_heads
             : by_context;
}

}  // namespace

Result<ShardPlan> plan_shards(const ShardRequest& request) try {
  HEADWISE_TRY(check_request(request));
  switch (request.parallel) {
    case Parallel::context:
      return plan_by_context(request);
    case Parallel::heads:
      return plan_by_heads(request);
    default:
      return plan_better(request);
  }
} catch (...) {
  return caught_out_of_memory();
}

std::vector<double> work_of_ranks(const ShardRequest& request,
                                  const ShardPlan& plan) {
  std::vector<double> work;
  work.reserve(plan.ranks.size());
  for (const RankShare& share : plan.ranks) {
    double pairs = 0;
    for (const auto& [s, range] : share.queries) {
      const PlannedSequence& sequence = request.sequences[s];
      pairs += static_cast<double>(
          request.band.pairs(range, sequence.all_keys(), sequence.query_start));
    }
    work.push_back(pairs * static_cast<double>(share.heads.count));
  }
  return work;
}

double imbalance_of(std::span<const double> work) {
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  return all == 0
             ? 0
             : std::ranges::max(work) * static_cast<double>(work.size()) / all -
                   1;
}

}  // namespace headwise::inline HEADWISE_ABI
