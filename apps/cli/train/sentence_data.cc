#include "sentence_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "shell/error_of_option.h"
#include "shell/models/label_text.h"
#include "shell/models/read_labelled.h"

namespace headwise::cli {
namespace {

Result<LabelledText> read_labels_and_text(std::string_view option,
                                          const std::string& path) {
  auto text = read_labelled(option, path);
  if (text && !text->labelled()) {
    return FileSubject{std::string(option), text->file}.bad_data(
        "has no labels", "label<TAB>text in each line");
  }
  return text;
}

}  // namespace

Result<SentenceData> read_sentence_data(const TrainFlags& flags) {
  HEADWISE_ASSIGN(auto text, read_labels_and_text("--data", flags.data));
  SentenceData data{.text = std::move(text)};
  data.labels = distinct_labels(data.text);
  if (data.labels.size() < 2) {
    return FileSubject{"--data", data.text.file}.bad_data(
        message("has the label {} in every line",
                label_text(data.labels.front())),
        "at least two different ones");
  }
  if (flags.test.empty()) {
    return data;
  }
  HEADWISE_ASSIGN(auto test, read_labels_and_text("--test", flags.test));
  if (const auto targets = targets_of(test, data.labels); !targets) {
    return error_of_option("--test", targets.error());
  }
  data.test = std::move(test);
  return data;
}

Answers most_common_label_answers(const SentenceData& data) {
  const std::string_view most_common =
      *std::ranges::max_element(data.labels, {}, [&](const std::string& label) {
        return std::ranges::count(data.text.labels, label);
      });
  Answers answers;
  for (const std::string_view label : data.measured().labels) {
    answers.right.push_back(label == most_common);
  }
  return answers;
}

}  // namespace headwise::cli
