// `headwise train --task induction`.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "headwise/interop/atomic_file.h"
#include "headwise/models/language_model.h"
#include "headwise/models/write_model.h"
#include "headwise/run/executor.h"
#include "headwise/train/induction_run.h"
#include "headwise/train/next_token.h"
#include "operation/arithmetic_option.h"
#include "out_folder.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "train_jobs.h"
#include "train_task.h"
#include "training_time.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kInductionTexts =
    200;  // in texts.txt, and to measure accuracy
constexpr std::string_view kTextsFile = "texts.txt";

// In the order in which they are looked for.
std::vector<std::string> result_files() {
  return {std::string(kCheckpointFile), "config.json", "tokenizer.json",
          "model.safetensors", std::string(kTextsFile)};
}

// What is not given stays as in `settings`.
InductionSettings induction_settings(const TrainFlags& flags,
                                     InductionSettings settings) {
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.seed = Seed{flags.seed.value_or(settings.seed.value)};
  settings.arithmetic = arithmetic_of(flags.arithmetic, settings.arithmetic);
  return settings;
}

std::string induction_step_json(const InductionRun& run) {
  return json_text(Json{{"step", run.steps()}, {"loss", run.losses().back()}});
}

// One text per line.
std::string induction_lines(const TextModel& model, const RaggedTokens& texts) {
  std::string lines;
  for (const auto& text : texts) {
    for (std::size_t n = 0; n < text.size(); ++n) {
      lines += (n == 0 ? "" : " ") + std::string(model.token(text[n]));
    }
    lines += "\n";
  }
  return lines;
}

std::string report_text(const TrainFlags& flags, const InductionRun& run,
                        double seconds, double accuracy,
                        const std::string& first_text) {
  const std::string find = fmt::format(
      "headwise heads --find induction --model {}", shell_word(flags.out));
  const std::string view =
      fmt::format("headwise view --model {} --open {}", shell_word(flags.out),
                  shell_word(first_text));
  return say(
      "{}: texts of 8 to 16 different words, each text followed by "
      "itself.\n\n"
      "After {} steps ({}), on texts not trained on:\n"
      "  accuracy on the repeated words  {:.3f}\n\n"
      "To find the induction head, and to see the heads of a text:\n"
      "  {}\n  {}\n",
      kInductionTask, run.steps(),
      training_time(seconds, run.settings().arithmetic), accuracy, find, view);
}

Outcome finish_induction(const TrainFlags& flags, const InductionRun& run,
                         double seconds, const Executor& executor,
                         const Streams& streams) {
  HEADWISE_ASSIGN(const auto texts, run.unseen_texts(kInductionTexts));
  HEADWISE_TRY(written(run.write_model(
      flags.out,
      std::array{std::string(kCheckpointFile), std::string(kTextsFile)})));
  HEADWISE_ASSIGN(const auto model,
                  read_language_model(
                      flags.out, {.arithmetic = run.settings().arithmetic}));
  HEADWISE_ASSIGN(const auto scores,
                  next_token_scores(*model, texts, {.executor = &executor}));
  const double accuracy = accuracy_on_repeats(scores);
  const std::string lines = induction_lines(*model, texts);
  HEADWISE_TRY(written(write_file_atomically(
      fmt::format("{}/{}", flags.out, kTextsFile), lines)));
  return print(
      streams.out,
      flags.json
          ? json_text(Json{{"task", kInductionTask},
                           {"steps", run.steps()},
                           {"seconds", seconds},
                           {"loss", run.losses().back()},
                           {"accuracy", accuracy},
                           {"arithmetic", name_of(run.settings().arithmetic)}})
          : report_text(flags, run, seconds, accuracy,
                        lines.substr(0, lines.find('\n'))));
}

}  // namespace

bool is_induction(const TrainFlags& flags) {
  if (!flags.task.empty() || flags.resume.empty()) {
    return flags.task == kInductionTask;
  }
  const auto checkpoint = read_run(flags.resume);
  if (!checkpoint) {
    return false;  // which the run then reports
  }
  const auto task = checkpoint->config.find("task");
  return task != checkpoint->config.end() &&
         task->second == decltype(task->second)(std::string(kInductionTask));
}

Outcome run_induction(const TrainFlags& flags, const Streams& streams) {
  recover_model(flags.out);  // before the files are looked at
  const TaskKind<InductionRun, InductionSettings> kind{
      .steps = kInductionSteps,
      .results = result_files(),
      .last_results = {"config.json", "tokenizer.json", "model.safetensors",
                       std::string(kTextsFile)},
      .of_checkpoint = induction_settings_of,
      .of_flags = induction_settings,
      .replaces_folder = true,
      .json_of_step = induction_step_json};
  return train_task(
      kind, flags, streams,
      [&](const InductionRun& run, double seconds, const Executor& executor) {
        return finish_induction(flags, run, seconds, executor, streams);
      });
}

}  // namespace headwise::cli
