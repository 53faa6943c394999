// The kinds of `headwise train`, from their options to files and a report.
#pragma once

#include "headwise/distribute/communicator.h"
#include "shell/command.h"
#include "shell/outcome.h"
#include "train_flags.h"

namespace headwise::cli {

// --task recall and reverse.
Outcome run_task(const TrainFlags& flags, const Streams& streams);

// Whether the task, of --task or of the checkpoint of --resume, is induction.
bool is_induction(const TrainFlags& flags);
Outcome run_induction(const TrainFlags& flags, const Streams& streams);

// --model, by all processes of a job.
Outcome run_sentences(const TrainFlags& flags, const Streams& streams,
                      Communicator& group);

}  // namespace headwise::cli
