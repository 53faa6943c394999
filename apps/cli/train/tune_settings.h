// What a run of `headwise train --model --train all` is, beside its model and
// its data.
#pragma once

#include <cstddef>

#include "headwise/base/random.h"
#include "headwise/interop/checkpoint.h"
#include "tune_flags.h"

namespace headwise::cli {

struct TuneSettings {
  Seed seed{};  // of the order of the examples
  std::size_t batch = 16;
  std::size_t epochs = 3;
  double learning_rate = 2e-5;
  std::size_t max_tokens = 0;
};

// As the flags say; what was not given is as it was in the checkpoint, if there
// is one, else as above. A text has at most `most_tokens`, those of the model.
TuneSettings tune_settings_of(const TuneFlags& flags,
                              const Checkpoint& checkpoint,
                              std::size_t most_tokens);

// As a checkpoint has them, but for the seed, which stands by itself.
ModelConfig config_of(const TuneSettings& settings);

}  // namespace headwise::cli
