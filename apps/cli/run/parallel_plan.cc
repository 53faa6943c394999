#include "parallel_plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "operation/parallel_scheme.h"
#include "shell/ranks/rank_job.h"

namespace headwise::cli {
namespace {

// A plan takes numbers up to this one; for the balance it is far enough.
constexpr std::int64_t kFar = KeyBand::kMost;

KeyBand near_band(KeyBand band) {
  for (auto* const side : {&band.left, &band.right}) {
    if (side->has_value()) {
      *side = std::min(**side, kFar);
    }
  }
  band.keep_first = std::min(band.keep_first, kFar);
  return band;
}

ShardRequest request_of(const DividedCall& call, std::size_t ranks) {
  const AttentionShape& shape = call.spec.shape;
  ShardRequest request = {.ranks = ranks,
                          .heads = shape.Hq,
                          .kv_heads = shape.Hkv,
                          .kv_groups = shape.kv_groups,
                          .band = near_band(call.band)};
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    request.sequences.push_back(
        {place.Lq, place.Lkv,
         std::clamp(call.spec.mask.query_start(b), -kFar, kFar)});
  }
  return request;
}

// Whether a row can process its keys in parts, apart from what only a division
// by heads returns.
bool keys_in_parts(AttentionSpec spec) {
  spec.attn_weights = AttnWeights::none;
  spec.scores = ScoresStage::none;
  return static_cast<bool>(spec.check_keys_in_parts("run"));
}

// Attention weights and scores are those of heads, and the backward pass by
// context takes the keys in parts.
Parallel scheme_of(const RunFlags& flags, const DividedCall& call) {
  const Parallel typed = parallel_of(flags.parallel.scheme);
  const bool pairs = call.spec.attn_weights != AttnWeights::none ||
                     call.spec.scores != ScoresStage::none;
  const bool whole_keys = !flags.d_output.empty() && !keys_in_parts(call.spec);
  return typed != Parallel::automatic ? typed
         : pairs || whole_keys        ? Parallel::heads
         : call.needs_all_heads       ? Parallel::context
                                      : Parallel::automatic;
}

Result<Division> own_division(const RunFlags& flags, const DividedCall& call,
                              std::size_t ranks) {
  ShardRequest request = request_of(call, ranks);
  request.parallel = scheme_of(flags, call);
  Division division;
  auto plan = plan_shards(request);
  HEADWISE_TRY(plan);
  if (plan->parallel == Parallel::heads) {
    division.heads = *std::move(plan);
    request.parallel = Parallel::context;
    plan = plan_shards(request);
    HEADWISE_TRY(plan);
  }
  division.tokens = *std::move(plan);
  if (flags.d_output.empty() && !keys_in_parts(call.spec)) {
    division.keys = KeyTransport::gathered;
  }
  return division;
}

}  // namespace

Result<Division> divide(Communicator& group, const RunFlags& flags,
                        const DividedCall& call) {
  auto division = own_division(flags, call, group.ranks());
  HEADWISE_TRY(agreed(group, division));
  HEADWISE_TRY(of_all_ranks(group.check_same(
      "--parallel", division->by_heads() ? "heads" : "context")));
  return division;
}

}  // namespace headwise::cli
