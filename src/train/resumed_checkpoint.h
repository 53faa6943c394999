// The checkpoint that a run resumes from: the settings it was written with, and
// whether it belongs to the same run.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/random.h"
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

// The run that resumes.
struct ResumedRun {
  ModelConfig config{};
  std::map<std::string, AnyView> params{};
  Seed seed{};
  std::vector<std::string_view> records{};  // each has one number per step
};

// Errors: bad_data for a checkpoint, read from the file `path`, of another run.
Status check_resumed(const Checkpoint& checkpoint, const std::string& path,
                     const ResumedRun& run);

// Copies a parameter from a checkpoint that has been checked.
void restore_param(const Checkpoint& checkpoint, const std::string& name,
                   std::span<float> values);
// The same for the optimiser's state. Errors: bad_data, about the file `path`.
Status restore_optimizer(const OptimizerState& state, const std::string& path,
                         Optimizer& optimizer);

}  // namespace headwise::inline HEADWISE_ABI
