// `headwise train --task recall` and `reverse`.
#include <fmt/ranges.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headwise/run/executor.h"
#include "headwise/train/task_run.h"
#include "operation/arithmetic_option.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/say.h"
#include "task_curve.h"
#include "task_files.h"
#include "task_words.h"
#include "train_jobs.h"
#include "train_task.h"
#include "training_time.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kColumns = 72;

// What is said about a finished run.
struct Report {
  double seconds = 0;
  TaskScore score;
  TaskScore uniform;
  std::string explain;
};

std::string task_step_json(const TaskRun& run) {
  return json_text(Json{{"step", run.steps()},
                        {"loss", run.losses().back()},
                        {"uniform_loss", run.uniform_losses().back()}});
}

std::string json_of(const TaskRun& run, const Report& report) {
  return json_text(Json{{"task", name_of(run.settings().task)},
                        {"steps", run.steps()},
                        {"seconds", report.seconds},
                        {"loss", report.score.loss},
                        {"accuracy", report.score.accuracy},
                        {"scoring", name_of(run.settings().scoring)},
                        {"arithmetic", name_of(run.settings().arithmetic)},
                        {"uniform_loss", report.uniform.loss},
                        {"uniform_accuracy", report.uniform.accuracy},
                        {"weight_on_answer", report.score.on_answer},
                        {"explain", report.explain}});
}

// What the heads do, if they have learned it, and how to see it.
std::string heads_text(const TaskWords& words, const Report& report) {
  constexpr double kLearned = 0.5;
  const std::vector<double>& shares = report.score.on_answer;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > kLearned * static_cast<double>(shares.size())) {
    return say(
        "The heads divide the questions among them: {}, in one head or "
        "another.\n"
        "To see what each head attends to:\n  {}\n",
        in_language(words.pattern), report.explain);
  }
  return say(
      "To see what each head attends to (in a trained model, {}):\n"
      "  {}\n",
      in_language(words.pattern), report.explain);
}

std::string text_of(const TaskRun& run, const Report& report) {
  const TaskScore& score = report.score;
  const TaskWords& words = words_of(run.settings().task);
  return say("{}: {}.\n\n{}\n"
             "After {} steps ({}), on sequences not trained on:\n"
             "  attention                  accuracy {:.3f}, loss {:.3f}\n"
             "  uniform attention weights  accuracy {:.3f}, loss {:.3f}\n"
             "Attention weight on the key that holds the answer, per head: "
             "{:.2f}\n",
             name_of(run.settings().task), in_language(words.about),
             curve_text(curve_of(run), kColumns), run.steps(),
             training_time(report.seconds, run.settings().arithmetic),
             score.accuracy, score.loss, report.uniform.accuracy,
             report.uniform.loss, fmt::join(score.on_answer, " ")) +
         heads_text(words, report);
}

// What is not given stays as in `settings`.
TaskSettings task_settings(const TrainFlags& flags, TaskSettings settings) {
  settings.task = task_named(flags.task).value_or(settings.task);
  if (!flags.scoring.empty()) {
    settings.scoring = flags.scoring == name_of(Scoring::additive)
                           ? Scoring::additive
                           : Scoring::dot;
  }
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.seed = Seed{flags.seed.value_or(settings.seed.value)};
  settings.arithmetic = arithmetic_of(flags.arithmetic, settings.arithmetic);
  return settings;
}

Outcome finish_task(const TrainFlags& flags, const TaskRun& run, double seconds,
                    const Executor& executor, const Streams& streams) {
  HEADWISE_ASSIGN(auto score, run.score(executor));
  HEADWISE_ASSIGN(auto uniform, run.uniform_score(executor));
  HEADWISE_TRY(written(write_results(run, flags.out)));
  const Report report{seconds, std::move(score), std::move(uniform),
                      explain_command(run, flags.out)};
  return print(streams.out,
               flags.json ? json_of(run, report) : text_of(run, report));
}

}  // namespace

Outcome run_task(const TrainFlags& flags, const Streams& streams) {
  const TaskKind<TaskRun, TaskSettings> kind{
      .steps = kTaskSteps,
      .results = task_result_files(),
      .last_results = {"params.npz", "tokens.txt", "curve.svg"},
      .of_checkpoint = task_settings_of,
      .of_flags = task_settings,
      .replaces_folder = false,
      .json_of_step = task_step_json};
  return train_task(
      kind, flags, streams,
      [&](const TaskRun& run, double seconds, const Executor& executor) {
        return finish_task(flags, run, seconds, executor, streams);
      });
}

}  // namespace headwise::cli
