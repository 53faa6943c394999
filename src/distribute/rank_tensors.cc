#include "distribute/rank_tensors.h"

#include <utility>

namespace headwise::inline HEADWISE_ABI {

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

}  // namespace headwise::inline HEADWISE_ABI
