// What the checkpoint of a ClassifierRun says besides its parameters: the
// settings, and digests of the data and of the model that the run began with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headwise/interop/checkpoint.h"
#include "headwise/train/classifier_run.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kLossRecord = "loss";

// A run, as far as its checkpoint must match.
struct ClassifierOrigin {
  ClassifierSettings settings;
  std::string data_sha256;
  std::string model_sha256;  // of the encoder's parameters before training
  std::uint64_t total_steps = 0;
};

ModelConfig config_of(const ClassifierOrigin& run);
// Whether the run, which would save `saved`, may continue from the checkpoint,
// which was read from the file `path`. Errors: bad_data for other data, another
// model or other settings; invalid_argument for one with more steps than the
// run.
Status check_checkpoint(const Checkpoint& checkpoint, const std::string& path,
                        const ClassifierOrigin& run, CheckpointView saved);

}  // namespace headwise::inline HEADWISE_ABI
