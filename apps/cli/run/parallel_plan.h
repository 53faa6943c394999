// How --parallel divides a call among the ranks.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/distribute/shard_plan.h"
#include "run_flags.h"

namespace headwise::cli {

struct DividedCall {
  const AttentionSpec& spec;  // of the whole call
  KeyBand band{};
  // Whether a layer needs all heads of a token on one rank.
  bool needs_all_heads = false;
};

struct Division {
  ShardPlan tokens{};  // who has which rows of the tensors
  ShardPlan heads{};   // no ranks: by context
  KeyTransport keys = KeyTransport::automatic;

  bool by_heads() const { return !heads.ranks.empty(); }
};

// `auto` chooses a division that supports the call; if both do, as
// plan_shards(). All ranks call it. Errors, on every rank: those of
// plan_shards(); invalid_argument for ranks whose calls are divided in
// different ways.
Result<Division> divide(Communicator& group, const RunFlags& flags,
                        const DividedCall& call);

}  // namespace headwise::cli
