#include "run_call.h"

#include <utility>

#include "cached_call.h"
#include "keep_mask.h"
#include "operation_call.h"
#include "parallel_call.h"
#include "parallel_plan.h"
#include "ready_call.h"
#include "shell/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {

Result<RunResult> run_operation(const RunFlags& flags, InputArrays arrays,
                                const PastInputs& past,
                                const OperationInputs& inputs,
                                const AttentionOptions& options,
                                const RotaryInputs& rotary,
                                Communicator* group) {
  const OperationOptions operation_options = inputs.operation_options();
  const bool batched = arrays.batched;
  auto ready = work_visibly(group, [&] {
    return make_ready(flags, std::move(arrays), past, options,
                      operation_options, rotary);
  });
  if (group != nullptr) {
    HEADWISE_TRY(agreed(*group, ready ? ok() : Status(ready.error())));
  }
  HEADWISE_TRY(ready);
  if (group != nullptr) {
    auto result = attend_together(
        *group, std::move(ready->in),
        {flags, batched, options, operation_options, ready->spec,
         inputs.key_band(),
         keys_in_parts(ready->whole, options, operation_options),
         [&ready](const QueriesAndKeys& gradients) {
           return ready->rotation.rotate_back(gradients);
         }});
    if (group->rank() != 0) {
      return result;
    }
    return with_keep_mask(flags, std::move(result), ready->whole, options,
                          operation_options);
  }
  return with_keep_mask(
      flags,
      flags.cache.given() ? attend_through_cache(flags, ready->in, inputs,
                                                 options, operation_options)
                          : attend(flags, std::move(ready->in), batched,
                                   options, operation_options, ready->rotation),
      ready->whole, options, operation_options);
}

}  // namespace headwise::cli
