// Examples to learn from: one a line, `label<TAB>text`, or text alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

struct LabelledText {
  std::shared_ptr<const std::string> bytes;  // what the views look into
  std::vector<std::string_view> texts;
  std::vector<std::string_view> labels;  // of each text; empty: there are none
  std::string path{};                    // "-": standard input
  // Of each text, from 1 on; empty: every line of the file has one.
  std::vector<std::size_t> lines{};

  bool labelled() const { return !labels.empty(); }
  std::size_t line_of(std::size_t n) const {
    return lines.empty() ? n + 1 : lines[n];
  }
};

// `path` may be "-". Every line has a label or none has. Errors: io_error;
// bad_data, with the number of the line from 1 on, for a line that is no UTF-8,
// one without a text or a label where others have one, and for no line at all.
// `argument` begins the messages: "--data".
Result<LabelledText> read_labelled_text(std::string_view argument,
                                        const std::string& path);

// Those that there are, in alphabetical order.
std::vector<std::string> distinct_labels(const LabelledText& text);

// The number of each text's label among `known`. Errors: bad_data for one that
// is not there, with its file and line: that of a model that was trained on
// others.
Result<std::vector<std::int64_t>> targets_of(
    std::string_view argument, const LabelledText& text,
    const std::vector<std::string>& known);

// Labels for a line on a terminal: long ones are cut, and of many only the
// first are named.
std::string label_text(std::string_view label);
std::string labels_text(const std::vector<std::string>& labels);

}  // namespace headwise::cli
