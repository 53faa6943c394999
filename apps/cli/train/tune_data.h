// What a classifier is trained and measured on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "labelled_text.h"
#include "learned_model.h"
#include "tune_flags.h"

namespace headwise::cli {

struct TuneData {
  LabelledText text{};
  std::vector<std::string> labels{};    // of the text, each once
  std::vector<std::int64_t> targets{};  // of each text its label's number
  std::string sha256{};                 // of the bytes that were read
  std::optional<LabelledText> test{};

  // What accuracy is measured on.
  const LabelledText& measured() const { return test ? *test : text; }
};

// --data and --test. Errors: those of read_labelled_text(); bad_data for text
// without labels, for one label alone, for a label of --test that --data has
// not.
Result<TuneData> read_tune_data(const TuneFlags& flags);

// Of who always says the commonest label of the data.
Answers commonest_label_answers(const TuneData& data);

}  // namespace headwise::cli
