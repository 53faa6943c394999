#include "train/resumed_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace headwise::inline HEADWISE_ABI {

Status check_resumed(const Checkpoint& checkpoint, const std::string& path,
                     const ResumedRun& run) {
  ParamShapes shapes;
  for (const auto& [name, view] : run.params) {
    shapes.emplace(name, std::vector<std::size_t>(view.extents().begin(),
                                                  view.extents().end()));
  }
  HEADWISE_TRY(check_model(checkpoint, path, run.config, shapes));
  if (checkpoint.seed.value != run.seed.value) {
    return Error{
        ErrorCode::bad_data,
        ErrorDetails{.operation = "train",
                     .argument = "seed",
                     .file = path,
                     .given = "is " + std::to_string(checkpoint.seed.value),
                     .expected = std::to_string(run.seed.value)}};
  }
  const auto fits = [&](std::string_view record) {
    const auto found = checkpoint.records.find(std::string(record));
    return found != checkpoint.records.end() &&
           found->second.size() == checkpoint.step;
  };
  if (!std::ranges::all_of(run.records, fits) ||
      checkpoint.optimizer.step != checkpoint.step) {
    return Error{
        ErrorCode::bad_data,
        ErrorDetails{.operation = "train",
                     .file = path,
                     .given = "expected losses and an optimiser of its " +
                              std::to_string(checkpoint.step) + " steps"}};
  }
  return ok();
}

void restore_param(const Checkpoint& checkpoint, const std::string& name,
                   std::span<float> values) {
  std::memcpy(values.data(), checkpoint.params.at(name).data.data(),
              values.size_bytes());
}

Status restore_optimizer(const Checkpoint& checkpoint, Optimizer& optimizer) {
  const Status s = optimizer.set_state(checkpoint.optimizer);
  // The checkpoint is at fault, not the caller.
  return !s && s.error().code() == ErrorCode::invalid_argument
             ? s.error().with_code(ErrorCode::bad_data)
             : s;
}

}  // namespace headwise::inline HEADWISE_ABI
