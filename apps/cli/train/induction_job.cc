#include "induction_job.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headwise/interop/atomic_file.h"
#include "headwise/train/induction_run.h"
#include "headwise/train/next_token.h"
#include "out_folder.h"
#include "shell/error_of_option.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"
#include "take_steps.h"
#include "task_files.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kTexts = 200;  // in texts.txt, and to measure accuracy
constexpr std::string_view kTextsFile = "texts.txt";

// In the order in which they are looked for.
std::vector<std::string> result_files() {
  return {std::string(kCheckpointFile), "config.json", "vocab.txt",
          "model.safetensors", std::string(kTextsFile)};
}

std::size_t steps_of(const TaskFlags& flags) {
  return flags.steps.value_or(kInductionSteps);
}

// What is not given stays as in `settings`.
InductionSettings settings_of(const TaskFlags& flags,
                              InductionSettings settings) {
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.seed = Seed{flags.seed.value_or(settings.seed.value)};
  return settings;
}

Result<InductionRun> start(const TaskFlags& flags) {
  if (flags.resume.empty()) {
    return InductionRun::create(settings_of(flags, {}));
  }
  const std::string path = checkpoint_path(flags.resume);
  const auto checkpoint = read_checkpoint(path);
  HEADWISE_TRY(checkpoint);
  auto run = InductionRun::create(
      settings_of(flags, induction_settings_of(*checkpoint)));
  HEADWISE_TRY(run);
  if (Status s = run->resume(*checkpoint, path); !s) {
    return error_of_argument(s.error());
  }
  HEADWISE_TRY(check_steps(steps_of(flags), run->steps(), path));
  return run;
}

std::string json_of_step(const InductionRun& run) {
  return json_text(Json{{"step", run.steps()}, {"loss", run.losses().back()}});
}

// One text per line.
std::string lines_of(const CausalModel& model, const RaggedTokens& texts) {
  std::string lines;
  for (const auto& text : texts) {
    for (std::size_t n = 0; n < text.size(); ++n) {
      lines += (n == 0 ? "" : " ") + std::string(model.token(text[n]));
    }
    lines += "\n";
  }
  return lines;
}

std::string report_text(const TaskFlags& flags, const InductionRun& run,
                        double seconds, double accuracy,
                        const std::string& first_text) {
  const std::string find = fmt::format(
      "headwise heads --find induction --model {}", shell_word(flags.out));
  const std::string view =
      fmt::format("headwise view --model {} --open {}", shell_word(flags.out),
                  shell_word(first_text));
  return say({"{}: texts of 8 to 16 different words, each text followed by "
              "itself.\n\n"
              "After {} steps ({:.1f} s), on texts not trained on:\n"
              "  accuracy on the repeated words  {:.3f}\n\n"
              "To find the induction head, and to see the heads of a text:\n"
              "  {}\n  {}\n",
              "{}: 서로 다른 단어 8~16개를 늘어놓고 한 번 더 되풀이한 "
              "텍스트.\n\n"
              "{}스텝({:.1f}초) 뒤, 학습에 쓰지 않은 텍스트에서:\n"
              "  되풀이된 단어의 정확도  {:.3f}\n\n"
              "인덕션 헤드를 찾고, 텍스트 하나에서 헤드를 보려면:\n"
              "  {}\n  {}\n"},
             kInductionTask, run.steps(), seconds, accuracy, find, view);
}

}  // namespace

bool is_induction(const TaskFlags& flags) {
  if (!flags.task.empty() || flags.resume.empty()) {
    return flags.task == kInductionTask;
  }
  const auto checkpoint = read_checkpoint(checkpoint_path(flags.resume));
  if (!checkpoint) {
    return false;  // which the run then reports
  }
  const auto task = checkpoint->config.find("task");
  return task != checkpoint->config.end() &&
         task->second == decltype(task->second)(std::string(kInductionTask));
}

Outcome run_induction(const TaskFlags& flags, const Streams& streams) {
  HEADWISE_TRY(files_of(flags, result_files()).check());
  HEADWISE_TRY(check_earlier_result(flags, result_files()));
  auto executor = executor_with(flags.threads);
  HEADWISE_TRY(executor);
  auto run = start(flags);
  HEADWISE_TRY(run);
  const auto begin = std::chrono::steady_clock::now();
  HEADWISE_TRY(take_steps(flags, steps_of(flags), result_files(), *executor,
                          *run, json_of_step, streams));
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  const auto texts = run->unseen_texts(kTexts);
  HEADWISE_TRY(texts);
  const auto scores =
      next_token_scores(run->model(), *texts, {.executor = &*executor});
  HEADWISE_TRY(scores);
  const double accuracy = accuracy_on_repeats(*scores);
  const std::string lines = lines_of(run->model(), *texts);
  HEADWISE_TRY(written(run->model().write(flags.out)));
  HEADWISE_TRY(written(write_file_atomically(
      fmt::format("{}/{}", flags.out, kTextsFile), lines)));
  return print(streams.out,
               flags.json ? json_text(Json{{"task", kInductionTask},
                                           {"steps", run->steps()},
                                           {"seconds", taken.count()},
                                           {"loss", run->losses().back()},
                                           {"accuracy", accuracy}})
                          : report_text(flags, *run, taken.count(), accuracy,
                                        lines.substr(0, lines.find('\n'))));
}

}  // namespace headwise::cli
