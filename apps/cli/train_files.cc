#include "train_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "headwise/interop/atomic_file.h"
#include "resumed_checkpoint.h"
#include "terminal_text.h"
#include "train_curve.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kSequences = 4;  // in tokens.txt

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
  return folder + "/checkpoint.npz";
}

Result<TrainRun> start_run(const TrainFlags& flags) {
  if (flags.resume.empty()) {
    return TrainRun::create(settings_of(flags, {}));
  }
  const std::string path = checkpoint_path(flags.resume);
  const auto checkpoint = read_checkpoint(path);
  if (!checkpoint) {
    return checkpoint.error();
  }
  auto run =
      TrainRun::resume(settings_of(flags, *checkpoint), *checkpoint, path);
  if (run && run->steps() >= flags.steps) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--steps is {}, expected more than the {} that {} "
                             "has",
                             flags.steps, run->steps(), path)};
  }
  return run;
}

Status make_folder(const std::string& folder) {
  constexpr mode_t kAll = 0777;  // less the umask
  if (::mkdir(folder.c_str(), kAll) == 0 || errno == EEXIST) {
    return ok();
  }
  return Error{ErrorCode::io_error,
               fmt::format("--out {}: {}", folder, std::strerror(errno))};
}

Status write_results(const TrainRun& run, const std::string& folder) {
  if (Status s = run.write_params_to(folder + "/params.npz"); !s) {
    return s;
  }
  const auto unseen = run.unseen_sequences(kSequences);
  if (!unseen) {
    return unseen.error();
  }
  if (Status s = write_text(folder + "/tokens.txt", lines_of(unseen->tokens));
      !s) {
    return s;
  }
  if (unseen->target_tokens.size() != 0) {
    if (Status s = write_text(folder + "/target_tokens.txt",
                              lines_of(unseen->target_tokens));
        !s) {
      return s;
    }
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
