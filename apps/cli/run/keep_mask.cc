#include "keep_mask.h"

#include <utility>

#include "shell/visible_work.h"

namespace headwise::cli {

Result<RunResult> with_keep_mask(Communicator* group, const RunFlags& flags,
                                 Result<RunResult> result,
                                 const Result<AttentionSpec>& spec) {
  const bool other = group != nullptr && group->rank() != 0;
  if (!result || flags.keep_mask_out.empty() || other) {
    return result;
  }
  HEADWISE_TRY(spec);
  HEADWISE_ASSIGN(auto keep_mask, work_visibly(group, [&] {
                    return spec->dropout.materialize();
                  }));
  result->keep_mask = std::move(keep_mask);
  return result;
}

}  // namespace headwise::cli
