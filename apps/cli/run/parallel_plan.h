// How --parallel divides a call among the ranks.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/distribute/key_band.h"
#include "headwise/distribute/shard_plan.h"
#include "run_flags.h"

namespace headwise::cli {

struct DividedCall {
  const AttentionSpec& spec;  // of the whole call
  KeyBand band{};
  // Whether keys may come in parts (keys_in_parts()).
  bool keys_in_parts = true;
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
// plan_shards(). Errors: those of plan_shards(), the same on every rank.
Result<Division> divide(const RunFlags& flags, const DividedCall& call,
                        std::size_t ranks);

// Whether a row can process its keys in parts. The mean of all values, and
// blocks that do not begin at multiples of their size, need all keys at once.
bool keys_in_parts(const AttentionShape& tensors, AttentionOptions options,
                   OperationOptions operation_options);

}  // namespace headwise::cli
