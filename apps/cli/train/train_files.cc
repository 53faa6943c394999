#include "train_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "headwise/interop/atomic_file.h"
#include "interop/folder.h"
#include "resumed_checkpoint.h"
#include "shell/outcome.h"
#include "shell/terminal_text.h"
#include "train_curve.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kSequences = 4;  // in tokens.txt

// In the order in which they are looked for.
std::vector<std::string> result_files() {
  return {std::string(kCheckpointFile), "params.npz", "tokens.txt",
          "target_tokens.txt", "curve.svg"};
}

Status write_text(const std::string& path, const std::string& text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

// One sequence a line.
std::string lines_of(const Tensor<TokenId, 2>& tokens) {
  std::string text;
  const std::size_t L = tokens.extent(1);
  for (std::size_t b = 0; b < tokens.extent(0); ++b) {
    text += fmt::format("{}\n",
                        fmt::join(tokens.elements().subspan(b * L, L), " "));
  }
  return text;
}

Scoring scoring_of(const TrainFlags& flags, const Checkpoint& checkpoint) {
  const auto* const saved = setting_of<std::string>(checkpoint, "scoring");
  const std::string& name =
      flags.scoring.empty() && saved != nullptr ? *saved : flags.scoring;
  return name == scoring_name(Scoring::additive) ? Scoring::additive
                                                 : Scoring::dot;
}

TrainSettings settings_of(const TrainFlags& flags,
                          const Checkpoint& checkpoint) {
  TrainSettings settings;
  settings.task = &train_tasks().front();
  if (const auto* const task = setting_of<std::string>(checkpoint, "task")) {
    const TrainTask* const known = find_train_task(*task);
    settings.task = known != nullptr ? known : settings.task;
  }
  if (const TrainTask* const asked = find_train_task(flags.task)) {
    settings.task = asked;
  }
  settings.scoring = scoring_of(flags, checkpoint);
  if (const auto* const rate =
          setting_of<double>(checkpoint, "learning_rate")) {
    settings.learning_rate = *rate;
  }
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.seed = Seed{flags.seed.value_or(checkpoint.seed.value)};
  return settings;
}

}  // namespace

std::string checkpoint_path(const std::string& folder) {
  return fmt::format("{}/{}", folder, kCheckpointFile);
}

Result<TrainRun> start_run(const TrainFlags& flags) {
  if (flags.resume.empty()) {
    return TrainRun::create(settings_of(flags, {}));
  }
  const std::string path = checkpoint_path(flags.resume);
  const auto checkpoint = read_checkpoint(path);
  HEADWISE_TRY(checkpoint);
  auto run =
      TrainRun::resume(settings_of(flags, *checkpoint), *checkpoint, path);
  if (run && run->steps() >= flags.steps) {
    return option_error(
        "--steps", fmt::format("is {}", flags.steps),
        fmt::format("more than the {} that {} has", run->steps(), path));
  }
  return run;
}

bool resumes_in_place(const LearnFlags& flags) {
  return !flags.resume.empty() && are_one_folder(flags.resume, flags.out);
}

FilePlan files_of(const TrainFlags& flags) {
  FilePlan plan;
  if (!flags.resume.empty() && !resumes_in_place(flags)) {
    plan.input("--resume", checkpoint_path(flags.resume));
  }
  plan.outputs_in("--out", flags.out, result_files(), /*parents=*/false);
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome check_earlier_result(const TrainFlags& flags) {
  if (flags.force || resumes_in_place(flags)) {
    return {};
  }
  for (const std::string& name : result_files()) {
    if (is_regular_file(flags.out + "/" + name)) {
      return usage(fmt::format(
          "--out is {}, which holds the {} of an earlier run: expected another "
          "folder, --resume to continue that run, or --force to replace it",
          flags.out, name));
    }
  }
  return {};
}

Status begin_results(const TrainFlags& flags) {
  HEADWISE_TRY(make_folder("--out", flags.out));
  for (const std::string& name :
       resumes_in_place(flags) ? std::vector<std::string>() : result_files()) {
    const std::string path = flags.out + "/" + name;
    const bool is_there = kind_of_entry(path) != EntryKind::nothing;
    HEADWISE_TRY(is_there ? remove_file("--out", path) : ok());
  }
  return ok();
}

Status write_results(const TrainRun& run, const std::string& folder) {
  HEADWISE_TRY(run.write_params_to(folder + "/params.npz"));
  const auto unseen = run.unseen_sequences(kSequences);
  HEADWISE_TRY(unseen);
  HEADWISE_TRY(write_text(folder + "/tokens.txt", lines_of(unseen->tokens)));
  if (unseen->target_tokens.size() != 0) {
    HEADWISE_TRY(write_text(folder + "/target_tokens.txt",
                            lines_of(unseen->target_tokens)));
  }
  return write_text(folder + "/curve.svg", curve_svg(run.curve()));
}

std::string explain_command(const TrainRun& run, const std::string& folder) {
  const auto in_folder = [&](std::string_view name) {
    return shell_word(fmt::format("{}/{}", folder, name));
  };
  return fmt::format("headwise explain --params {} --tokens {}{} --heads {}",
                     in_folder("params.npz"), in_folder("tokens.txt"),
                     run.task().cross
                         ? " --target-tokens " + in_folder("target_tokens.txt")
                         : "",
                     in_folder("heads.svg"));
}

}  // namespace headwise::cli
