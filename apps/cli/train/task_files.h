// The files of a training run in its folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/train/task_run.h"
#include "shell/file_plan.h"
#include "shell/outcome.h"
#include "train_flags.h"

namespace headwise::cli {

// checkpoint.npz and those of write_results(), in the order in which they are
// looked for.
std::vector<std::string> task_result_files();

// What a run reads, and `results`, what it writes. The checkpoint that it
// resumes from is not an input if the run replaces it.
FilePlan files_of(const TrainFlags& flags,
                  const std::vector<std::string>& results);
// Refuses to overwrite an earlier result without --force or --resume of the
// same folder, and a pipe or a device that has the name of a result.
Outcome check_earlier_result(const TrainFlags& flags,
                             const std::vector<std::string>& results);

// Removes the results of another run from the folder. Errors: io_error.
Status begin_results(const TrainFlags& flags,
                     const std::vector<std::string>& results);

// Refuses --steps that the checkpoint, of the file `path`, already has, unless
// it has just these and --out lacks the results.
Status check_steps(std::size_t steps, std::uint64_t done,
                   const std::string& path, bool has_results);

// params.npz, tokens.txt, target_tokens.txt of an encoder-decoder task, and
// curve.svg.
Status write_results(const TaskRun& run, const std::string& folder);

// The command that shows what the heads attend to, to be typed into a shell.
std::string explain_command(const TaskRun& run, const std::string& folder);

}  // namespace headwise::cli
