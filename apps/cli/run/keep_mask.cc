#include "keep_mask.h"

#include <utility>

namespace headwise::cli {

Result<RunResult> with_keep_mask(const RunFlags& flags,
                                 Result<RunResult> result,
                                 const Result<AttentionShape>& tensors,
                                 const AttentionOptions& options,
                                 const OperationOptions& operation_options) {
  if (!result || flags.keep_mask_out.empty()) {
    return result;
  }
  HEADWISE_TRY(tensors);
  const auto spec =
      AttentionSpec::create(*tensors, options, operation_options, "run");
  HEADWISE_TRY(spec);
  auto keep_mask = spec->dropout.materialize();
  HEADWISE_TRY(keep_mask);
  result->keep_mask = *std::move(keep_mask);
  return result;
}

}  // namespace headwise::cli
