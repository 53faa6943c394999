// `headwise train --model ..` from its options to its files and its report.
#pragma once

#include "sentence_flags.h"
#include "shell/command.h"
#include "shell/outcome.h"

namespace headwise::cli {

Outcome run_sentences(const SentenceFlags& flags, const Streams& streams);

}  // namespace headwise::cli
