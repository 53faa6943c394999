// Labels of texts as lines of a file: tab-separated columns, or JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/tensor.h"

namespace headwise::cli {

struct LabelledLines {
  std::vector<std::string_view> texts;
  std::vector<std::string> labels;  // the model's
  Tensor<float, 2> probabilities;   // (texts, labels)
  std::vector<std::size_t> cut;     // of each text, tokens that were cut off
};

// Label, probability and text; with `all`, under a heading, the probability of
// every label before the text. Probabilities have the digits that give back
// their binary32. Control characters, tabs among them, are written as \x09.
std::string label_columns(const LabelledLines& lines, bool all);

// One object a line: text, label, probability, the probabilities by label, and
// how many tokens were cut off.
std::string label_json(const LabelledLines& lines);

}  // namespace headwise::cli
