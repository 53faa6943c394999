// What `headwise train --model` says about a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/sentence_classifier.h"
#include "sentence_data.h"
#include "train_flags.h"

namespace headwise::cli {

struct SentenceReport {
  std::size_t cut = 0;  // texts of more than max_tokens
  std::size_t max_tokens = 0;
  std::uint64_t steps = 0;
  std::vector<double> epoch_losses;  // of --train all
  double seconds = 0;                // of training
  Arithmetic arithmetic = Arithmetic::exact;
  std::string_view compared_with;  // what `before` is
  Answers before;
  Answers after;
};

// A line of JSON during the run.
std::string json_of_step(const ClassifierRun& run);

std::string json_of(const TrainFlags& flags, const SentenceData& data,
                    const SentenceReport& report);
std::string text_of(const TrainFlags& flags, const SentenceData& data,
                    const SentenceReport& report);

}  // namespace headwise::cli
