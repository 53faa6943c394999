// Texts for training and measuring, one example per line: `label<TAB>text`, or
// text alone. Either all lines have a label or none has.
//
// Errors: io_error; bad_data for a line that is not UTF-8, has no text, or has
// a label although others have none; for a file without lines or longer than
// 256 MiB. details().file is the file, details().entry the line, from 1:
//   read_labelled_text: train.tsv: line 7 has no text
//
// Example:
//   LabelledText text = read_labelled_text("train.tsv").value();
//   std::vector<std::string> labels = distinct_labels(text);
//   std::vector<std::int64_t> targets = targets_of(text, labels).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/token_text.h"  // IWYU pragma: export
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LabelledText {
  std::shared_ptr<const std::string> bytes;  // what the views point into
  std::vector<std::string_view> texts;
  std::vector<std::string_view> labels;  // one per text, or empty
  std::string file{};                    // used in errors
  // The line of each text, from 1; empty: text n is in line n + 1.
  std::vector<std::size_t> lines{};

  bool labelled() const { return !labels.empty(); }
  std::size_t line_of(std::size_t n) const {
    return lines.empty() ? n + 1 : lines[n];
  }
  // SHA-256 of all bytes: identifies the data.
  std::string sha256() const;
};

Result<LabelledText> read_labelled_text(const std::string& path);
// Errors use `file` as the file. The lines are those of text_lines().
Result<LabelledText> parse_labelled_text(std::string_view bytes,
                                         const std::string& file);

// `count` of the examples, evenly spread; all of them if there are not more or
// if `count` is 0.
LabelledText spread_examples(LabelledText text, std::size_t count);

// Each label once, sorted by bytes.
std::vector<std::string> distinct_labels(const LabelledText& text);

// For each text, the index of its label in `labels`. Errors: bad_data for a
// label that is not in `labels`, with its file and line.
Result<std::vector<std::int64_t>> targets_of(
    const LabelledText& text, const std::vector<std::string>& labels);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
