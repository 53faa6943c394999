// headwise classify
// Texts -> labels and their probabilities, by a model that headwise train gave
// a classifier.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/interop/atomic_file.h"
#include "headwise/interop/file_subject.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/labelled_text.h"
#include "label_lines.h"
#include "operation/arithmetic_option.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/quantity_text.h"
#include "shell/read_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kClassifyHelp = {
    .name = "classify",
    .description = "predict the labels of texts",
    .examples =
        R"(  headwise classify --model topics sentences.txt
  headwise classify --model topics sentences.txt --out labels.tsv
  echo "Heads matter." | headwise classify --model topics --json)",
    .footer =
        R"(Each line of FILE is one text. Each line of the result has the label, its
probability and the text, separated by tabs, in the order of FILE. Train DIR
with: headwise train --model MODEL --data examples.tsv --out DIR)"};

constexpr std::size_t kFewestTokens = 2;

struct ClassifyFlags {
  CommandLine line;
  std::string model;
  std::string texts = "-";
  std::string out;
  std::size_t max_tokens = 0;  // 0: the model's
  std::size_t threads = 0;     // 0: all
  std::string arithmetic;
  bool all = false;
  bool json = false;
};

Outcome check_flags(const ClassifyFlags& flags) {
  if (flags.max_tokens != 0 && flags.max_tokens < kFewestTokens) {
    return usage("--max-tokens", message("is {}", flags.max_tokens),
                 message("at least {}, for [CLS] and [SEP]", kFewestTokens));
  }
  if (flags.all && flags.json && flags.out.empty()) {
    return usage(
        "--all adds columns to the lines; --json has every probability without "
        "it");
  }
  return {};
}

Status check_finite_rows(const ClassifyFlags& flags,
                         const LabelledLines& lines) {
  for (std::size_t n = 0; n < lines.texts.size(); ++n) {
    if (!std::isfinite(lines.probabilities(n, 0))) {
      return FileSubject{"", name_of_text(flags.texts),
                         fmt::format("line {}", n + 1)}
          .bad_data(
              message("gets NaN or infinite scores from the classifier of {}",
                      flags.model));
    }
  }
  return ok();
}

Result<LabelledLines> classify(const ClassifyFlags& flags,
                               const SentenceEncoder& encoder,
                               const LabelProbe& probe,
                               std::vector<std::string_view> texts,
                               const Executor& executor) {
  auto done = [&] {
    ProgressBar bar{"classify", "texts"};
    SentenceOptions options{.progress = bar.progress(), .executor = &executor};
    if (flags.max_tokens != 0) {
      options.max_tokens = flags.max_tokens;
    }
    return encoder.encode(texts, options);
  }();
  HEADWISE_TRY(done);
  HEADWISE_ASSIGN(auto probabilities,
                  probe.probabilities(done->embeddings, executor));
  LabelledLines lines{std::move(texts), probe.labels(),
                      std::move(probabilities), std::move(done->cut)};
  Status s = check_finite_rows(flags, lines);
  return s ? Result<LabelledLines>(std::move(lines)) : s.error();
}

// What standard error is told: standard output has only labels.
std::string classify_summary(const ClassifyFlags& flags,
                             const SentenceEncoder& encoder,
                             const LabelledLines& lines) {
  std::string text;
  const auto cut = std::ranges::count_if(
      lines.cut, [](std::size_t tokens) { return tokens != 0; });
  if (cut != 0) {
    const std::size_t most = encoder.settings().max_tokens;
    text +=
        say("{} of {} text{} cut to {} tokens\n", cut, lines.texts.size(),
            plural(lines.texts.size()),
            flags.max_tokens == 0 ? most : std::min(flags.max_tokens, most));
  }
  if (!flags.out.empty()) {
    text += say("{}: labels of {} text{}\n", shown(flags.out),
                lines.texts.size(), plural(lines.texts.size()));
  }
  return text;
}

FilePlan classify_files(const ClassifyFlags& flags) {
  FilePlan plan = flags.line.files();
  if (flags.out.empty()) {
    plan.printed("the list of labels");
  }
  return plan;
}

Outcome write_labels(const ClassifyFlags& flags, const LabelledLines& lines,
                     const Streams& streams) {
  if (!flags.out.empty()) {
    const std::string columns = label_columns(lines, flags.all);
    HEADWISE_TRY(written(write_file_atomically(flags.out, columns)));
  }
  if (flags.json) {
    return print(streams.out, label_json(lines));
  }
  return flags.out.empty() ? print(streams.out, label_columns(lines, flags.all))
                           : Outcome();
}

Outcome run_classify(const ClassifyFlags& flags, const Streams& streams) {
  HEADWISE_TRY(check_flags(flags));
  HEADWISE_TRY(classify_files(flags).check());
  HEADWISE_ASSIGN(const auto text, read_text("FILE", flags.texts));
  std::vector<std::string_view> texts = text_lines(text);
  HEADWISE_TRY(check_lines({.file = name_of_text(flags.texts)}, texts,
                           "one text per line"));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(
      const auto encoder,
      read_model(flags.model, {.arithmetic = arithmetic_of(flags.arithmetic)}));
  HEADWISE_ASSIGN(const auto probe, read_probe(flags.model, encoder));
  HEADWISE_ASSIGN(const auto lines,
                  classify(flags, encoder, probe, std::move(texts), executor));
  HEADWISE_TRY(write_labels(flags, lines, streams));
  streams.err << classify_summary(flags, encoder, lines) << std::flush;
  return {};
}

void add_classify_options(const Arguments& command, ClassifyFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"--model", &flags.model, input_file("DIR"),
        "a model folder with a classifier, from headwise train --model",
        required()},
       {"FILE", &flags.texts, input_file("FILE|-"),
        "one text per line (default -: standard input)"},
       {"--out", &flags.out, output_file("FILE.tsv"),
        "write the result to this file (default: print it)"},
       {"--all", &flags.all, flag(),
        "add a header line and one probability column per label"},
       {"--json", &flags.json, printed(),
        "print one JSON object per line, with the probabilities of all labels"},
       {"--max-tokens", &flags.max_tokens, count(),
        "maximum tokens per text; longer texts are cut (default and maximum: "
        "the model's limit)",
        advanced()},
       threads_option(flags.threads),
       arithmetic_option(flags.arithmetic)});
}

}  // namespace

void add_classify(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kClassifyHelp, add_classify_options, run_classify);
}

}  // namespace headwise::cli
