// The files of a training run in its folder.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "train_flags.h"
#include "train_run.h"

namespace headwise::cli {

// FOLDER/checkpoint.npz
std::string checkpoint_path(const std::string& folder);

// A run as the flags say: a new one, or that of --resume gone on with. What was
// not given is as it was in the checkpoint.
Result<TrainRun> start_run(const TrainFlags& flags);

// Makes the folder where it is missing. Errors: io_error.
Status make_folder(const std::string& folder);

// params.npz, tokens.txt, target_tokens.txt of an encoder-decoder task, and
// curve.svg.
Status write_results(const TrainRun& run, const std::string& folder);

// The command that shows what the heads have learned, to be typed into a shell.
std::string explain_command(const TrainRun& run, const std::string& folder);

}  // namespace headwise::cli
