// Labels and accuracies as a line on a terminal shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headwise/train/sentence_classifier.h"

namespace headwise::cli {

// Long labels are cut; of many only the first are named.
std::string label_text(std::string_view label);
std::string labels_text(const std::vector<std::string>& labels);

// "93.4% (92.1 to 94.5)"
std::string accuracy_text(const Answers& answers);

}  // namespace headwise::cli
