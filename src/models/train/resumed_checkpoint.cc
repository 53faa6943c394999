#include "train/resumed_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr const char* kArithmetic = "arithmetic";

}  // namespace

Arithmetic arithmetic_in(const ModelConfig& config) {
  const auto found = config.find(kArithmetic);
  const auto* const name = found == config.end()
                               ? nullptr
                               : std::get_if<std::string>(&found->second);
  return name != nullptr && *name == name_of(Arithmetic::bf16)
             ? Arithmetic::bf16
             : Arithmetic::exact;
}

void put_arithmetic(Arithmetic arithmetic, ModelConfig& config) {
  if (arithmetic != Arithmetic::exact) {
    config.emplace(kArithmetic, std::string(name_of(arithmetic)));
  }
}

Status write_run(const std::string& path, CheckpointView run,
                 const Result<OptimizerState>& optimizer) {
  HEADWISE_TRY(optimizer);
  run.optimizer = &*optimizer;
  return write_checkpoint(path, run);
}

Status check_resumed(const Checkpoint& checkpoint, const std::string& path,
                     const CheckpointView& run) {
  ParamShapes shapes;
  for (const auto& [name, view] : run.params) {
    shapes.emplace(name, std::vector<std::size_t>(view.extents().begin(),
                                                  view.extents().end()));
  }
  const FileSubject subject{"train", path};
  const Arithmetic arithmetic = arithmetic_in(checkpoint.config);
  if (arithmetic != arithmetic_in(run.config)) {
    return subject.bad_data(
        message("is of a run in {} arithmetic", name_of(arithmetic)),
        std::string(name_of(arithmetic_in(run.config))));
  }
  HEADWISE_TRY(check_model(checkpoint, path, run.config, shapes));
  if (checkpoint.seed.value != run.seed.value) {
    return subject.bad_data(message("has the seed {}", checkpoint.seed.value),
                            std::to_string(run.seed.value));
  }
  const auto fits = [&](const Records::value_type& record) {
    const auto found = checkpoint.records.find(record.first);
    return found != checkpoint.records.end() &&
           found->second.size() == checkpoint.step;
  };
  if (!std::ranges::all_of(run.records, fits) ||
      checkpoint.optimizer.step != checkpoint.step) {
    return subject.bad_data("lacks losses or an optimiser",
                            message("those of its {} steps", checkpoint.step));
  }
  return ok();
}

void restore_param(const Checkpoint& checkpoint, const std::string& name,
                   std::span<float> values) {
  std::memcpy(values.data(), checkpoint.params.at(name).data.data(),
              values.size_bytes());
}

Status restore_optimizer(const OptimizerState& state, const std::string& path,
                         Optimizer& optimizer) {
  const Status s = optimizer.set_state(state);
  // The checkpoint is at fault, not the caller.
  return s ? s : FileSubject{"train", path}.blame(s.error());
}

}  // namespace headwise::inline HEADWISE_ABI
