#include "label_text.h"

#include <algorithm>

#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {

std::string label_text(std::string_view label) {
  constexpr std::size_t kColumns = 40;
  return cut_to(shown(label.substr(0, 4 * kColumns)), kColumns);
}

std::string labels_text(const std::vector<std::string>& labels) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t n = 0; n < std::min(labels.size(), kMost); ++n) {
    text += (n == 0 ? "" : ", ") + label_text(labels[n]);
  }
  return labels.size() <= kMost
             ? text
             : say("{} and {} more", text, labels.size() - kMost);
}

std::string accuracy_text(const Answers& answers) {
  const auto [low, high] = answers.interval();
  return say("{:.1f}% ({:.1f} to {:.1f})", 100 * answers.accuracy(), 100 * low,
             100 * high);
}

}  // namespace headwise::cli
