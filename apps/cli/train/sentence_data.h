// What a classifier is trained and measured on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/train/labelled_text.h"
#include "headwise/train/sentence_classifier.h"
#include "train_flags.h"

namespace headwise::cli {

struct SentenceData {
  LabelledText text{};
  std::vector<std::string> labels{};  // of the text, each once
  std::optional<LabelledText> test{};

  // What accuracy is measured on.
  const LabelledText& measured() const { return test ? *test : text; }
};

// --data and --test. Errors: those of parse_labelled_text(); bad_data for text
// without labels, for a single label, and for a label of --test that --data
// lacks.
Result<SentenceData> read_sentence_data(const TrainFlags& flags);

// The baseline: always the most common label of the data.
Answers most_common_label_answers(const SentenceData& data);

}  // namespace headwise::cli
