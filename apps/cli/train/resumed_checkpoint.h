// The checkpoint that a run goes on from: what it was written with, and whether
// it is of the same run.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"

namespace headwise::cli {

// What an option that is not given stays at. Null where there is no setting of
// this name and type.
template <class T>
const T* setting_of(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.config.find(name);
  return found == checkpoint.config.end() ? nullptr
                                          : std::get_if<T>(&found->second);
}

// The run that is to go on.
struct ResumedRun {
  ModelConfig config{};
  std::map<std::string, AnyView> params{};
  Seed seed{};
  std::vector<std::string_view> records{};  // one number a step each
};

// Errors: bad_data for a checkpoint, that of the file `path`, of another run.
Status check_resumed(const Checkpoint& checkpoint, const std::string& path,
                     const ResumedRun& run);

// A parameter as the checkpoint has it, which was checked.
void restore_param(const Checkpoint& checkpoint, const std::string& name,
                   std::span<float> values);

}  // namespace headwise::cli
