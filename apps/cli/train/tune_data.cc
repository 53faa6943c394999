#include "tune_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "shell/read_text.h"
#include "shell/sha256.h"

namespace headwise::cli {
namespace {

Result<LabelledText> read_labels_and_text(std::string_view argument,
                                          const std::string& path) {
  auto text = read_labelled_text(argument, path);
  if (text && !text->labelled()) {
    return FileSubject{std::string(argument), name_of_text(path)}.bad_data(
        "has no labels", "label<TAB>text in each line");
  }
  return text;
}

}  // namespace

Result<TuneData> read_tune_data(const TuneFlags& flags) {
  auto text = read_labels_and_text("--data", flags.data);
  HEADWISE_TRY(text);
  TuneData data{.text = *std::move(text)};
  data.labels = distinct_labels(data.text);
  if (data.labels.size() < 2) {
    return FileSubject{"--data", name_of_text(flags.data)}.bad_data(
        fmt::format("has the label {} in every line",
                    label_text(data.labels.front())),
        "at least two different ones");
  }
  auto targets = targets_of("--data", data.text, data.labels);
  HEADWISE_TRY(targets);
  data.targets = *std::move(targets);
  Sha256 hash;
  hash.add(std::as_bytes(std::span(*data.text.bytes)));
  data.sha256 = hash.digits();
  if (flags.test.empty()) {
    return data;
  }
  auto test = read_labels_and_text("--test", flags.test);
  HEADWISE_TRY(test);
  HEADWISE_TRY(targets_of("--test", *test, data.labels));
  data.test = *std::move(test);
  return data;
}

Answers commonest_label_answers(const TuneData& data) {
  const std::string_view commonest =
      *std::ranges::max_element(data.labels, {}, [&](const std::string& label) {
        return std::ranges::count(data.text.labels, label);
      });
  Answers answers;
  for (const std::string_view label : data.measured().labels) {
    answers.right.push_back(label == commonest);
  }
  return answers;
}

}  // namespace headwise::cli
