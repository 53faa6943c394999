// The checkpoint of a training run: written, and checked before a run resumes
// from it.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/module/optimizer.h"

namespace headwise::inline HEADWISE_ABI {

// A setting of the run that wrote the checkpoint; null if there is none of this
// name and type.
template <class T>
const T* setting_of(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.config.find(name);
  return found == checkpoint.config.end() ? nullptr
                                          : std::get_if<T>(&found->second);
}

// The arithmetic of a run whose settings these are. An exact run does not say
// it, as the runs of earlier versions.
Arithmetic arithmetic_in(const ModelConfig& config);
void put_arithmetic(Arithmetic arithmetic, ModelConfig& config);

// Writes what a run has, and the state of its optimiser. Errors: those of
// write_checkpoint().
Status write_run(const std::string& path, CheckpointView run,
                 const Result<OptimizerState>& optimizer);
// Whether `run`, which has the same records, may continue from a checkpoint
// that was read from the file `path`. Each record has one number per step.
// Errors: bad_data for one of another run.
Status check_resumed(const Checkpoint& checkpoint, const std::string& path,
                     const CheckpointView& run);

// Copies a parameter from a checkpoint that has been checked.
void restore_param(const Checkpoint& checkpoint, const std::string& name,
                   std::span<float> values);
// The same for the optimiser's state. Errors: bad_data, about the file `path`.
Status restore_optimizer(const OptimizerState& state, const std::string& path,
                         Optimizer& optimizer);

}  // namespace headwise::inline HEADWISE_ABI
