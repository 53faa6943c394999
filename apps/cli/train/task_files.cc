#include "task_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "headwise/interop/atomic_file.h"
#include "out_folder.h"
#include "shell/file_place.h"
#include "shell/outcome.h"
#include "shell/terminal_text.h"
#include "task_curve.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kSequences = 4;  // in tokens.txt

// One sequence a line.
std::string file_lines(const Tensor<TokenId, 2>& tokens) {
  std::string text;
  const std::size_t L = tokens.extent(1);
  for (std::size_t b = 0; b < tokens.extent(0); ++b) {
    text += fmt::format("{}\n",
                        fmt::join(tokens.elements().subspan(b * L, L), " "));
  }
  return text;
}

}  // namespace

Status check_steps(std::size_t steps, std::uint64_t done,
                   const std::string& path, bool has_results) {
  return done < steps || (done == steps && !has_results)
             ? ok()
             : Status(option_error(
                   "--steps", message("is {}", steps),
                   message("more than the {} that {} has", done, path)));
}

std::vector<std::string> task_result_files() {
  return {std::string(kCheckpointFile), "params.npz", "tokens.txt",
          "target_tokens.txt", "curve.svg"};
}

FilePlan files_of(const TrainFlags& flags,
                  const std::vector<std::string>& results) {
  FilePlan plan = flags.line.files();
  if (!flags.resume.empty() && !resumes_in_place(flags)) {
    plan.input("--resume", checkpoint_path(flags.resume));
  }
  if (!results.empty()) {
    plan.outputs_in("--out", flags.out, results, /*parents=*/false);
  }
  return plan;
}

Outcome check_earlier_result(const TrainFlags& flags,
                             const std::vector<std::string>& results) {
  HEADWISE_TRY(check_regular_files(flags.out, results));
  if (flags.force || resumes_in_place(flags)) {
    return {};
  }
  for (const std::string& name : results) {
    const FilePlace place = place_of(flags.out + "/" + name);
    if (place.error != 0) {
      return failure_to_write(system_error(
          {.operation = "--out", .file = place.path}, place.error));
    }
    if (place.status) {
      return usage("--out",
                   message("is {}, which holds the {} of an earlier run",
                           flags.out, name),
                   "another folder, --resume to continue that run, or --force "
                   "to replace it");
    }
  }
  return {};
}

Status begin_results(const TrainFlags& flags,
                     const std::vector<std::string>& results) {
  for (const std::string& name :
       resumes_in_place(flags) ? std::vector<std::string>() : results) {
    HEADWISE_TRY(remove_result(flags.out + "/" + name));
  }
  return ok();
}

Status write_results(const TaskRun& run, const std::string& folder) {
  HEADWISE_TRY(run.write_params_to(folder + "/params.npz"));
  HEADWISE_ASSIGN(const auto unseen, run.unseen_sequences(kSequences));
  HEADWISE_TRY(
      write_file_atomically(folder + "/tokens.txt", file_lines(unseen.tokens)));
  if (unseen.target_tokens.size() != 0) {
    HEADWISE_TRY(write_file_atomically(folder + "/target_tokens.txt",
                                       file_lines(unseen.target_tokens)));
  }
  HEADWISE_ASSIGN(const auto picture, curve_svg(curve_of(run)));
  return write_file_atomically(folder + "/curve.svg", picture);
}

std::string explain_command(const TaskRun& run, const std::string& folder) {
  const auto in_folder = [&](std::string_view name) {
    return shell_word(fmt::format("{}/{}", folder, name));
  };
  return fmt::format("headwise explain --params {} --tokens {}{} --picture {}",
                     in_folder("params.npz"), in_folder("tokens.txt"),
                     shape_of(run.settings().task).cross
                         ? " --target-tokens " + in_folder("target_tokens.txt")
                         : "",
                     in_folder("heads.svg"));
}

}  // namespace headwise::cli
