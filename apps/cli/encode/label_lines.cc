#include "label_lines.h"

#include <fmt/format.h>

#include "headwise/models/label_probe.h"
#include "shell/json.h"
#include "shell/output.h"

namespace headwise::cli {
namespace {

std::string heading(const LabelledLines& lines) {
  std::string text = "label\tprobability";
  for (const std::string& label : lines.labels) {
    text += "\t" + one_line(label);
  }
  return text + "\ttext\n";
}

}  // namespace

std::string label_columns(const LabelledLines& lines, bool all) {
  std::string text = all ? heading(lines) : "";
  for (std::size_t n = 0; n < lines.texts.size(); ++n) {
    const std::size_t best = predicted_label(lines.probabilities, n);
    text += fmt::format("{}\t{}", one_line(lines.labels[best]),
                        lines.probabilities(n, best));
    for (std::size_t c = 0; all && c < lines.labels.size(); ++c) {
      text += fmt::format("\t{}", lines.probabilities(n, c));
    }
    text += "\t" + one_line(lines.texts[n]) + "\n";
  }
  return text;
}

std::string label_json(const LabelledLines& lines) {
  std::string text;
  for (std::size_t n = 0; n < lines.texts.size(); ++n) {
    const std::size_t best = predicted_label(lines.probabilities, n);
    Json probabilities = Json::object();
    for (std::size_t c = 0; c < lines.labels.size(); ++c) {
      probabilities[lines.labels[c]] = lines.probabilities(n, c);
    }
    const Json line = {{"line", n + 1},
                       {"text", lines.texts[n]},
                       {"label", lines.labels[best]},
                       {"probability", lines.probabilities(n, best)},
                       {"probabilities", std::move(probabilities)},
                       {"cut_tokens", lines.cut[n]}};
    text += json_text(line);
  }
  return text;
}

}  // namespace headwise::cli
