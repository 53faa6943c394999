// Training on a task, whichever: a run begins or continues, takes its steps,
// saves itself on the way and then says what it has learned.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "out_folder.h"
#include "shell/command.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "shell/threads.h"
#include "task_files.h"
#include "train_flags.h"

namespace headwise::cli {

// What differs between tasks.
template <class Run, class Settings>
struct TaskKind {
  std::size_t steps;  // unless --steps is given
  // Files of the folder, in the order in which they are looked for.
  std::vector<std::string> results;
  // Those that every finished run has written after its checkpoint.
  std::vector<std::string> last_results;
  Settings (*of_checkpoint)(const Checkpoint& checkpoint);
  // Options that are not given stay as in `settings`.
  Settings (*of_flags)(const TrainFlags& flags, Settings settings);
  // Whether the end of the run replaces the folder; until then an earlier
  // result stays.
  bool replaces_folder;
  // What --json prints at each checkpoint.
  std::string (*json_of_step)(const Run& run);
};

// A new run, or one that continues that of --resume.
template <class Run, class Settings>
Result<Run> start_run(const TaskKind<Run, Settings>& kind,
                      const TrainFlags& flags) {
  if (flags.resume.empty()) {
    return Run::create(kind.of_flags(flags, {}));
  }
  const std::string path = checkpoint_path(flags.resume);
  HEADWISE_ASSIGN(const auto checkpoint, read_run(flags.resume));
  HEADWISE_ASSIGN(auto run, Run::create(kind.of_flags(
                                flags, kind.of_checkpoint(checkpoint))));
  if (Status s = run.resume(checkpoint, path); !s) {
    return error_of_argument(s.error());
  }
  HEADWISE_TRY(
      check_steps(flags.steps.value_or(kind.steps), run.steps(), path,
                  has_results_of_checkpoint(flags.out, kind.last_results)));
  return run;
}

// Writes a checkpoint; the first one makes the folder, which a failure removes.
template <class Run, class Settings>
Status save(const TaskKind<Run, Settings>& kind, const TrainFlags& flags,
            const Run& run, bool is_first) {
  HEADWISE_ASSIGN(const auto made, make_out_folder(flags.out));
  Status s = is_first && !kind.replaces_folder
                 ? begin_results(flags, kind.results)
                 : ok();
  s = s ? run.write_checkpoint_to(checkpoint_path(flags.out)) : s;
  if (!s && made) {
    remove_empty_folder(flags.out);
  }
  return s;
}

// Takes steps until there are enough, and writes a checkpoint every 100 and at
// the end. A run that has taken all of them before writes its last one again.
template <class Run, class Settings>
Outcome take_steps(const TaskKind<Run, Settings>& kind, const TrainFlags& flags,
                   const Executor& executor, Run& run, const Streams& streams) {
  constexpr std::size_t kStepsPerCheckpoint = 100;
  const std::size_t steps = flags.steps.value_or(kind.steps);
  ProgressBar bar("train", "steps");
  const Progress progress = bar.progress();
  bool is_first = true;  // a run that fails earlier leaves no folder
  do {
    if (run.steps() < steps) {
      HEADWISE_TRY(run.step(executor));
    }
    if (progress) {
      bar.set_note(say("loss={:.3f}", run.losses().back()));
      progress(run.steps(), steps);
    }
    if (run.steps() % kStepsPerCheckpoint != 0 && run.steps() != steps) {
      continue;
    }
    HEADWISE_TRY(written(save(kind, flags, run, is_first)));
    is_first = false;
    if (flags.json) {
      HEADWISE_TRY(print(streams.out, kind.json_of_step(run)));
    }
  } while (run.steps() < steps);
  return {};
}

// `finish(run, seconds, executor)` writes and prints the result.
template <class Run, class Settings, class Finish>
Outcome train_task(const TaskKind<Run, Settings>& kind, const TrainFlags& flags,
                   const Streams& streams, const Finish& finish) {
  FilePlan files = files_of(flags, kind.results);
  if (kind.replaces_folder) {
    files.replaced_folder("--out", flags.out, /*parents=*/false);
  }
  HEADWISE_TRY(files.check());
  HEADWISE_TRY(check_earlier_result(flags, kind.results));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(auto run, start_run(kind, flags));
  const auto begin = std::chrono::steady_clock::now();
  HEADWISE_TRY(take_steps(kind, flags, executor, run, streams));
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  return finish(run, taken.count(), executor);
}

}  // namespace headwise::cli
