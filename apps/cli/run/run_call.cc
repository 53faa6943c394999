#include "run_call.h"

#include <utility>

#include "cached_call.h"
#include "keep_mask.h"
#include "operation_call.h"
#include "parallel_cache.h"
#include "parallel_call.h"
#include "parallel_plan.h"
#include "ready_call.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// attend(tensors), with copies of key and value for --present-dir.
template <class Attend>
Result<RunResult> with_present(const RunFlags& flags, Operands<float, 4> in,
                               const Attend& attend) {
  if (flags.present_dir.empty()) {
    return attend(std::move(in));
  }
  HEADWISE_ASSIGN(auto key, in.key.clone());
  HEADWISE_ASSIGN(auto value, in.value.clone());
  auto result = attend(std::move(in));
  if (result) {
    result->present_key = std::move(key);
    result->present_value = std::move(value);
  }
  return result;
}

Result<RunResult> attend_alone(const RunFlags& flags, ReadyCall ready,
                               bool batched, const OperationInputs& inputs,
                               const AttentionOptions& options,
                               const OperationOptions& operation_options) {
  if (flags.cache.given()) {
    return attend_through_cache(flags, ready.in, inputs, options,
                                operation_options, ready.spec.shape);
  }
  return with_present(flags, std::move(ready.in), [&](Operands<float, 4> in) {
    return attend(flags, std::move(in), ready, batched);
  });
}

// The result is that of rank 0.
Result<RunResult> attend_by_ranks(Communicator& group, const RunFlags& flags,
                                  ReadyCall ready, bool batched,
                                  const OperationInputs& inputs,
                                  const AttentionOptions& options,
                                  const OperationOptions& operation_options) {
  if (flags.cache.given()) {
    return attend_through_cache_together(group, flags, ready.in, inputs,
                                         options, operation_options,
                                         ready.spec.shape);
  }
  const TogetherOptions together = {
      flags,
      batched,
      options,
      operation_options,
      ready.spec,
      inputs.key_band(),
      [&ready](const QueriesAndKeys& gradients) {
        return ready.rotation.rotate_back(gradients);
      },
      ready.whole,
      ready.files ? &*ready.files : nullptr};
  const auto attend = [&](Operands<float, 4> in) {
    return attend_together(group, std::move(in), together);
  };
  return group.rank() == 0 ? with_present(flags, std::move(ready.in), attend)
                           : attend(std::move(ready.in));
}

}  // namespace

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
    HEADWISE_TRY(agreed(*group, ready));
  }
  HEADWISE_TRY(ready);
  const Result<AttentionSpec> spec = ready->spec;
  return with_keep_mask(
      group, flags,
      group == nullptr
          ? attend_alone(flags, *std::move(ready), batched, inputs, options,
                         operation_options)
          : attend_by_ranks(*group, flags, *std::move(ready), batched, inputs,
                            options, operation_options),
      spec);
}

}  // namespace headwise::cli
