// The files of a training run in its folder.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "shell/file_plan.h"
#include "shell/outcome.h"
#include "train_flags.h"
#include "train_run.h"

namespace headwise::cli {

inline constexpr std::string_view kCheckpointFile = "checkpoint.npz";

// FOLDER/checkpoint.npz
std::string checkpoint_path(const std::string& folder);
// Whether a run goes on in the folder that it resumes from.
bool resumes_in_place(const LearnFlags& flags);

// A run as the flags say: a new one, or that of --resume gone on with. What was
// not given is as it was in the checkpoint.
Result<TrainRun> start_run(const TrainFlags& flags);

// What a run reads and writes. The checkpoint that it resumes from is no input
// where it is replaced.
FilePlan files_of(const TrainFlags& flags);
// Refuses to write over an earlier result without --force, or --resume of the
// same folder.
Outcome check_earlier_result(const TrainFlags& flags);

// Makes the folder where it is missing, and removes from one the results of
// another run. Errors: io_error.
Status begin_results(const TrainFlags& flags);

// params.npz, tokens.txt, target_tokens.txt of an encoder-decoder task, and
// curve.svg.
Status write_results(const TrainRun& run, const std::string& folder);

// The command that shows what the heads have learned, to be typed into a shell.
std::string explain_command(const TrainRun& run, const std::string& folder);

}  // namespace headwise::cli
