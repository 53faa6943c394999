// `headwise train --model ..` from its options to its files and its report, by
// all processes of a job.
#pragma once

#include "headwise/distribute/communicator.h"
#include "sentence_flags.h"
#include "shell/command.h"
#include "shell/outcome.h"

namespace headwise::cli {

Outcome run_sentences(const SentenceFlags& flags, const Streams& streams,
                      Communicator& group);

}  // namespace headwise::cli
