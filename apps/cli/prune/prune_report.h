// What pruning a model came to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/train/sentence_classifier.h"
#include "operation/models/unknown_tokens.h"
#include "pruned_next_tokens.h"
#include "pruned_times.h"

namespace headwise::cli {

struct PrunedSizes {
  std::size_t heads_before = 0;
  std::size_t heads_after = 0;
  std::size_t bytes_before = 0;  // of the parameters' files
  std::size_t bytes_after = 0;
};

struct PruneReport {
  std::string out;
  std::string method;
  bool corrected = false;
  bool full_size = false;  // removed heads are zeros, not gone
  PrunedSizes sizes{};
  std::vector<std::size_t> kept{};  // heads of each layer
  // Not given: not measured, and why.
  std::optional<Answers> before{};
  std::optional<Answers> after{};
  // Of texts without labels: the mean cosine of a text's embedding with that of
  // the whole model.
  std::optional<double> cosine{};
  // Of a language model, in place of both.
  std::optional<PrunedNextTokens> next_tokens{};
  UnknownTokens tokens{};  // of the same
  std::optional<Error> why_no_accuracy{};
  PrunedTimes times{};
};

std::string text_of(const PruneReport& report);
// One object, on one line.
std::string json_of(const PruneReport& report);

}  // namespace headwise::cli
