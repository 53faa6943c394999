// `headwise encode --out`: the sentences of a file, by one process or by
// several, which each encode some of them and save them in parts. A run that
// was interrupted resumes.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/arithmetic.h"
#include "headwise/distribute/communicator.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/run/executor.h"
#include "shell/outcome.h"

namespace headwise::cli {

struct Corpus {
  const SentenceEncoder& model;
  std::string model_folder;
  std::string_view text;  // the whole file
  std::span<const std::string_view> sentences;
  std::string out;
  Arithmetic arithmetic;  // of the model
  std::optional<std::string> prompt_name;
  std::chrono::seconds save_every;
};

struct CorpusCounts {
  std::size_t tokens = 0;
  std::size_t encoded = 0;   // sentences of this run; the others were saved
  double seconds = 0;        // for those
  std::size_t cut = 0;       // sentences that were longer than the model takes
  std::size_t most_cut = 0;  // the most tokens cut from one, and its number
  std::size_t most_cut_sentence = 0;
};

// All ranks call it with the same corpus; rank 0 writes `out` and gets the
// counts.
Outcome encode_corpus(Communicator& group, const Corpus& corpus,
                      const Executor& executor, CorpusCounts& counts);

}  // namespace headwise::cli
