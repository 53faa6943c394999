#include "tune_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/json.h"
#include "read_text.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

std::string line_of(const Json& json) { return json.dump() + "\n"; }

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

std::string classify_command(const TuneFlags& flags) {
  return fmt::format("headwise classify --model {} sentences.txt",
                     shell_word(flags.out));
}

std::string training_text(const TuneFlags& flags, const TuneReport& report) {
  if (!flags.trains_all()) {
    return fmt::format(
        "The classifier learned from their embeddings in {} steps ({:.1f} s); "
        "the encoder is the source's.\n",
        report.steps, report.seconds);
  }
  return fmt::format(
      "Encoder and classifier learned in {} steps ({:.1f} s); the loss of each "
      "epoch: {:.4f}\n",
      report.steps, report.seconds, fmt::join(report.epoch_losses, " "));
}

std::string cut_text(const TuneReport& report) {
  return report.cut == 0 ? ""
                         : fmt::format(", {} of them cut to {} tokens",
                                       report.cut, report.max_tokens);
}

std::string measured_text(const TuneFlags& flags, const TuneData& data) {
  return data.test
             ? fmt::format("On the {} texts of {}:\n", data.test->texts.size(),
                           name_of_text(flags.test))
             : fmt::format(
                   "On the training data only, which says little "
                   "of other texts (--test FILE):\n");
}

}  // namespace

std::string json_of_step(const TuneRun& run) {
  return line_of({{"step", run.steps()}, {"loss", run.losses().back()}});
}

std::string json_of(const TuneFlags& flags, const TuneData& data,
                    const TuneReport& report) {
  Json before = json_of_answers(report.before);
  before["of"] = report.compared_with;
  return line_of(
      {{"model", flags.model},
       {"out", flags.out},
       {"train", flags.trains_all() ? "all" : "probe"},
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
       {"next", classify_command(flags)}});
}

std::string text_of(const TuneFlags& flags, const TuneData& data,
                    const TuneReport& report) {
  const AccuracyChange change = change_between(report.before, report.after);
  return fmt::format("{} texts of {} labels ({}){}.\n", data.text.texts.size(),
                     data.labels.size(), fmt::join(data.labels, ", "),
                     cut_text(report)) +
         training_text(flags, report) + "\n" + measured_text(flags, data) +
         fmt::format(
             "  before  accuracy {}: {}\n"
             "  after   accuracy {}\n"
             "  change  {:+.1f} points ({:+.1f} to {:+.1f})\n"
             "In brackets: the interval of 95 of 100.\n\n"
             "{} is a model folder with the classifier. To use it:\n  {}\n",
             accuracy_text(report.before), report.compared_with,
             accuracy_text(report.after), 100 * change.change, 100 * change.low,
             100 * change.high, flags.out, classify_command(flags));
}

}  // namespace headwise::cli
