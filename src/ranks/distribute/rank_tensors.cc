#include "distribute/rank_tensors.h"

#include <string>
#include <utility>

#include "attention/check_call.h"
#include "headwise/distribute/shard_plan.h"

namespace headwise::inline HEADWISE_ABI {

Status check_rank_numbers(std::string_view operation, std::size_t ranks,
                          std::size_t rank) {
  if (ranks == 0 || ranks > kMostRanks) {
    return value_error(
        operation, "ranks", std::to_string(ranks),
        message("a number from 1 to {}", kMostRanks),
        ranks == 0 ? ErrorCode::invalid_argument : ErrorCode::out_of_range);
  }
  return rank < ranks
             ? ok()
             : Status(value_error(operation, "rank", std::to_string(rank),
                                  message("a rank below {}", ranks),
                                  ErrorCode::out_of_range));
}

Status check_group(std::string_view operation, const Communicator& group,
                   std::size_t ranks, std::size_t rank) {
  return group.ranks() == ranks && group.rank() == rank
             ? ok()
             : Status(argument_error(
                   operation, "group",
                   message("is rank {} of {}", group.rank(), group.ranks()),
                   message("rank {} of {}, as in create()", rank, ranks)));
}

Status check_rank_options(std::string_view operation,
                          const AttentionOptions& options,
                          const OperationOptions& operation_options) {
  for (const auto& [argument, asked] :
       {std::pair("attn_weights", options.attn_weights != AttnWeights::none),
        std::pair("scores", options.scores != ScoresStage::none),
        std::pair("statistics", operation_options.statistics.any()),
        std::pair("key_part", operation_options.key_part != KeyPart::all),
        std::pair("query_part",
                  operation_options.query_part != QueryPart::all)}) {
    if (asked) {
      return value_error(operation, argument, "asked for",
                         "none in a call of several ranks",
                         ErrorCode::unsupported);
    }
  }
  return ok();
}

Status check_rank_tensors(std::string_view operation, const AttentionSpec& spec,
                          const Shards& shards, std::size_t rank,
                          const CallTensors& tensors) {
  using enum CallTensor;
  for (const CallTensor state : {state_d_query, state_d_key, state_d_value,
                                 state_d_alibi, state_d_sinks, state_d_bias}) {
    if (tensors.has(state)) {
      return value_error(operation, "gradients.state", "given",
                         "none in a call of several ranks",
                         ErrorCode::unsupported);
    }
  }
  return internal::check_own_tensors(
      operation, spec,
      {rows_of_rank(shards.queries, rank), rows_of_rank(shards.keys, rank)},
      tensors);
}

}  // namespace headwise::inline HEADWISE_ABI
