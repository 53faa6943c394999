// The steps of a training run on a task.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/run/executor.h"
#include "headwise/run/progress.h"
#include "out_folder.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "task_files.h"

namespace headwise::cli {

// Takes steps until there are `steps`, and writes a checkpoint every 100 and at
// the end. `results`: what another run may have left in the folder;
// `json_of_step`: what --json prints at each checkpoint.
template <class Run>
Outcome take_steps(const TaskFlags& flags, std::size_t steps,
                   const std::vector<std::string>& results,
                   const Executor& executor, Run& run,
                   std::string (*json_of_step)(const Run& run),
                   const Streams& streams) {
  constexpr std::size_t kStepsPerCheckpoint = 100;
  ProgressBar bar("train", "steps");
  const Progress progress = bar.progress();
  bool has_begun = false;  // a run that fails earlier leaves no folder
  while (run.steps() < steps) {
    HEADWISE_TRY(run.step(executor));
    if (progress) {
      bar.set_note(say({"loss={:.3f}", "손실={:.3f}"}, run.losses().back()));
      progress(run.steps(), steps);
    }
    if (run.steps() % kStepsPerCheckpoint != 0 && run.steps() != steps) {
      continue;
    }
    if (!has_begun) {
      HEADWISE_TRY(written(begin_results(flags, results)));
      has_begun = true;
    }
    HEADWISE_TRY(written(run.write_checkpoint_to(checkpoint_path(flags.out))));
    if (flags.json) {
      HEADWISE_TRY(print(streams.out, json_of_step(run)));
    }
  }
  return {};
}

}  // namespace headwise::cli
