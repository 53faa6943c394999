// Calls by heads.
#pragma once

#include <cstddef>

#include "distribute/ranked_call.h"
#include "headwise/distribute/heads_attention.h"
#include "headwise/distribute/shard_plan.h"

namespace headwise::testing_support {

// Who computes which heads.
inline ShardPlan heads_of(const AttentionShape& tensors, std::size_t ranks,
                          const HeadGroups& groups) {
  return plan_shards({.ranks = ranks,
                      .parallel = Parallel::heads,
                      .sequences = {{tensors.Lq, tensors.Lkv}},
                      .heads = tensors.Hq,
                      .kv_heads = tensors.Hkv,
                      .kv_groups = groups})
      .value();
}

template <class T>
HeadsCall heads_call_of(const WholeCall<T>& whole, std::size_t ranks,
                        Deal deal) {
  return {.tensors = whole.tensors,
          .tokens = plan_of(whole.shape(), ranks, deal),
          .heads =
              heads_of(whole.tensors, ranks, whole.operation_options.kv_groups),
          .options = whole.options,
          .operation_options = whole.operation_options};
}

}  // namespace headwise::testing_support
