#include "sentence_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shell/json.h"
#include "shell/models/label_text.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "training_time.h"

namespace headwise::cli {
namespace {

Json json_of_answers(const Answers& answers) {
  const auto [low, high] = answers.interval();
  return {{"accuracy", answers.accuracy()},
          {"low", low},
          {"high", high},
          {"right", answers.count()}};
}

Json json_of_change(const AccuracyChange& change) {
  return {
      {"change", change.change}, {"low", change.low}, {"high", change.high}};
}

// Uses the arithmetic of the reported accuracy.
std::string classify_command(const TrainFlags& flags, Arithmetic arithmetic) {
  return fmt::format(
      "headwise classify --model {}{} sentences.txt", shell_word(flags.out),
      arithmetic == Arithmetic::bf16 ? " --arithmetic bf16" : "");
}

std::string training_text(const TrainFlags& flags,
                          const SentenceReport& report) {
  const std::string time = training_time(report.seconds, report.arithmetic);
  if (!flags.trains_all()) {
    return say(
        "Trained the classifier on their embeddings: {} steps ({}); "
        "encoder unchanged.\n",
        report.steps, time);
  }
  return say(
      "Trained encoder and classifier: {} steps ({}); loss of each epoch: "
      "{:.4f}\n",
      report.steps, time, fmt::join(report.epoch_losses, " "));
}

std::string cut_text(const SentenceReport& report) {
  return report.cut == 0 ? ""
                         : say(", {} of them cut to {} tokens", report.cut,
                               report.max_tokens);
}

std::string measured_text(const TrainFlags& flags, const SentenceData& data) {
  return data.test
             ? say("On the {} text{} of {}:\n", data.test->texts.size(),
                   plural(data.test->texts.size()),
                   shown(flags.test == "-" ? say("standard input")
                                           : flags.test))
             : say("On the training data only, which says little about other "
                   "texts (--test FILE):\n");
}

// What `before` is the accuracy of.
std::string baseline_text(const TrainFlags& flags) {
  return flags.trains_all() ? say("classifier only, encoder unchanged")
                            : say("always the most common label");
}

}  // namespace

std::string json_of_step(const ClassifierRun& run) {
  return json_text({{"step", run.steps()}, {"loss", run.losses().back()}});
}

std::string json_of(const TrainFlags& flags, const SentenceData& data,
                    const SentenceReport& report) {
  Json before = json_of_answers(report.before);
  before["of"] = report.compared_with;
  return json_text(
      {{"model", flags.model},
       {"out", flags.out},
       {"train", flags.trains_all() ? "all" : "probe"},
       {"arithmetic", name_of(report.arithmetic)},
       {"examples", data.text.texts.size()},
       {"labels", data.labels},
       {"max_tokens", report.max_tokens},
       {"cut", report.cut},
       {"steps", report.steps},
       {"seconds", report.seconds},
       {"epoch_losses", report.epoch_losses},
       {"measured_on", data.test ? "test" : "training data"},
       {"measured", data.measured().texts.size()},
       {"before", before},
       {"after", json_of_answers(report.after)},
       {"change", json_of_change(change_between(report.before, report.after))},
       {"next", classify_command(flags, report.arithmetic)}});
}

std::string text_of(const TrainFlags& flags, const SentenceData& data,
                    const SentenceReport& report) {
  const AccuracyChange change = change_between(report.before, report.after);
  return say("{} text{} of {} labels ({}){}.\n", data.text.texts.size(),
             plural(data.text.texts.size()), data.labels.size(),
             labels_text(data.labels), cut_text(report)) +
         training_text(flags, report) + "\n" + measured_text(flags, data) +
         say("  before  accuracy {}: {}\n"
             "  after   accuracy {}\n"
             "  change  {:+.1f} points ({:+.1f} to {:+.1f})\n"
             "95% confidence interval in brackets.\n\n",
             accuracy_text(report.before), baseline_text(flags),
             accuracy_text(report.after), 100 * change.change, 100 * change.low,
             100 * change.high) +
         say("{} is a model folder with the classifier. To use it:\n  {}\n",
             shown(flags.out), classify_command(flags, report.arithmetic));
}

}  // namespace headwise::cli
