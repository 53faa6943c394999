// What `headwise train --model` says of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "learned_model.h"
#include "tune_data.h"
#include "tune_flags.h"
#include "tune_run.h"

namespace headwise::cli {

struct TuneReport {
  std::size_t cut = 0;  // texts of more than max_tokens
  std::size_t max_tokens = 0;
  std::uint64_t steps = 0;
  std::vector<double> epoch_losses;  // of --train all
  double seconds = 0;                // of training
  std::string_view compared_with;    // what `before` is
  Answers before;
  Answers after;
};

// A line of JSON while it learns.
std::string json_of_step(const TuneRun& run);

std::string json_of(const TuneFlags& flags, const TuneData& data,
                    const TuneReport& report);
std::string text_of(const TuneFlags& flags, const TuneData& data,
                    const TuneReport& report);

}  // namespace headwise::cli
