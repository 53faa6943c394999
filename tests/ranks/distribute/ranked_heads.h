// Calls by heads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "distribute/ranked_call.h"
#include "headwise/distribute/heads_attention.h"
#include "headwise/distribute/shard_plan.h"

namespace headwise::testing_support {

// Groups of two query heads; the last block of queries and of keys is short.
inline const AttentionShape kHeadsShape = {
    .B = 2, .Hq = 6, .Hkv = 3, .Lq = 130, .Lkv = 270, .D = 4, .Dv = 3};

// A ragged batch of three sequences; one has no queries.
struct RaggedHeads {
  AttentionShape tensors = {
      .B = 1, .Hq = 6, .Hkv = 3, .Lq = 200, .Lkv = 300, .D = 4, .Dv = 3};
  Tensor<std::int64_t, 1> queries =
      tensor_of<std::int64_t, 1>({4}, {0, 150, 150, 200});
  Tensor<std::int64_t, 1> keys =
      tensor_of<std::int64_t, 1>({4}, {0, 140, 150, 300});
};

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
