#include "labelled_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "models/utf8.h"
#include "shell/read_text.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// What errors about a line of the file are about.
FileSubject line_of(std::string_view argument, const std::string& path,
                    std::size_t line) {
  return {std::string(argument), name_of_text(path),
          fmt::format("line {}", line)};
}

}  // namespace

Result<LabelledText> read_labelled_text(std::string_view argument,
                                        const std::string& path) {
  auto bytes = read_text(argument, path);
  HEADWISE_TRY(bytes);
  LabelledText text;
  text.bytes = std::make_shared<const std::string>(*std::move(bytes));
  text.path = path;
  const std::vector<std::string_view> lines = lines_of(*text.bytes);
  if (lines.empty()) {
    return FileSubject{std::string(argument), name_of_text(path)}.bad_data(
        "is empty", "one example a line");
  }
  const bool labelled = lines.front().find('\t') != std::string_view::npos;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    HEADWISE_TRY(check_utf8_text(line_of(argument, path, n + 1), lines[n]));
    const std::size_t tab = lines[n].find('\t');
    if ((tab != std::string_view::npos) != labelled) {
      return labelled
                 ? line_of(argument, path, n + 1)
                       .bad_data("has no tab", "label<TAB>text as in line 1")
                 : line_of(argument, path, n + 1)
                       .bad_data("has a tab", "text alone as in line 1");
    }
    const std::string_view words =
        labelled ? lines[n].substr(tab + 1) : lines[n];
    if (words.find_first_not_of(" \t") == std::string_view::npos) {
      return line_of(argument, path, n + 1).bad_data("has no text");
    }
    if (labelled && tab == 0) {
      return line_of(argument, path, n + 1)
          .bad_data("has no label", "label<TAB>text");
    }
    text.texts.push_back(words);
    if (labelled) {
      text.labels.push_back(lines[n].substr(0, tab));
    }
  }
  return text;
}

std::vector<std::string> distinct_labels(const LabelledText& text) {
  const std::set<std::string_view> labels(text.labels.begin(),
                                          text.labels.end());
  return {labels.begin(), labels.end()};
}

Result<std::vector<std::int64_t>> targets_of(
    std::string_view argument, const LabelledText& text,
    const std::vector<std::string>& known) {
  std::vector<std::int64_t> targets;
  for (std::size_t n = 0; n < text.labels.size(); ++n) {
    const auto found = std::ranges::find(known, text.labels[n]);
    if (found == known.end()) {
      return line_of(argument, text.path, text.line_of(n))
          .bad_data(fmt::format("has the label {}", label_text(text.labels[n])),
                    fmt::format("one of the model's: {}", labels_text(known)));
    }
    targets.push_back(found - known.begin());
  }
  return targets;
}

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
             : fmt::format("{} and {} more", text, labels.size() - kMost);
}

}  // namespace headwise::cli
