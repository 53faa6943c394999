// `headwise train --task ..` from its options to its files and its report.
#pragma once

#include "shell/command.h"
#include "shell/outcome.h"
#include "train_flags.h"

namespace headwise::cli {

Outcome run_train(const TrainFlags& flags, const Streams& streams);

}  // namespace headwise::cli
