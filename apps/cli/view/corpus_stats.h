// `headwise stats --corpus`: what each head does over the sentences of a file,
// by one process or by several. A run that was interrupted resumes from its
// journal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/distribute/communicator.h"
#include "shell/outcome.h"
#include "shell/save_every.h"
#include "stats_lines.h"
#include "viewed_flags.h"

namespace headwise::cli {

struct CorpusText {
  std::string model;
  std::string corpus;
  std::size_t sentences = 0;
  std::size_t tokens = 0;
  std::size_t empty = 0;
  std::size_t cut = 0;
  std::size_t max_tokens = 0;
};

struct CorpusStats {
  CorpusText text;
  HeadStats heads;
};

struct CorpusFlags {
  std::string corpus;
  std::string out;                      // the journal is next to it
  std::optional<std::size_t> deadline;  // seconds
  SaveEvery save_every;
};

// Errors: usage, for options that do not go with --corpus.
Status check_corpus_flags(const ViewedFlags& seen);

// All ranks call it; rank 0 gets the result.
Outcome compute_corpus_stats(Communicator& group, const ViewedFlags& seen,
                             const CorpusFlags& flags, CorpusStats& stats);
// Once the result is written.
void remove_journal(const CorpusFlags& flags);

}  // namespace headwise::cli
