#include "tune_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "headwise/models/write_model.h"
#include "interop/folder.h"
#include "interop/new_folder.h"
#include "shell/file_plan.h"
#include "shell/model_out.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/read_model.h"
#include "train_files.h"
#include "tune_data.h"
#include "tune_report.h"
#include "tune_run.h"

namespace headwise::cli {
namespace {

// An interrupt loses fewer.
constexpr std::uint64_t kStepsACheckpoint = 25;
constexpr std::size_t kFewestTokens = 2;

// Adds the time of a scope.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_)
            .count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

class TuneJob {
 public:
  TuneJob(const TuneFlags& flags, const Streams& streams,
          const Executor& executor, TuneData data)
      : flags_(flags),
        streams_(streams),
        executor_(executor),
        data_(std::move(data)),
        has_checkpoint_(resumes_in_place(flags)) {}

  Outcome train_classifier();
  Outcome train_all();

 private:
  TextOptions options(Progress progress = {}) const {
    return {.max_tokens = report_.max_tokens,
            .executor = &executor_,
            .progress = std::move(progress)};
  }
  Result<RaggedTokens> tokenize(const SentenceEncoder& encoder);
  Result<LabelProbe> classifier_of(const SentenceEncoder& encoder);
  Result<Answers> measure(const SentenceEncoder& encoder,
                          const LabelProbe& probe) const;
  Result<TuneRun> start(SentenceEncoder encoder, const Checkpoint& checkpoint);
  Outcome take_steps(TuneRun& run);
  Outcome finish(ModelChanges changes);

  const TuneFlags& flags_;
  const Streams& streams_;
  const Executor& executor_;
  TuneData data_;
  TuneReport report_;
  bool has_checkpoint_ = false;  // in --out, of this run
};

Result<RaggedTokens> TuneJob::tokenize(const SentenceEncoder& encoder) {
  auto tokens = encoder.tokenize(
      data_.text.texts,
      {.max_tokens = report_.max_tokens, .executor = &executor_});
  HEADWISE_TRY(tokens);
  report_.cut = static_cast<std::size_t>(std::ranges::count_if(
      tokens->cut, [](std::size_t tokens_cut) { return tokens_cut != 0; }));
  return std::move(tokens->ids);
}

Result<LabelProbe> TuneJob::classifier_of(const SentenceEncoder& encoder) {
  const Stopwatch stopwatch(report_.seconds);
  ProgressBar bar("embed", "texts");
  return train_probe(encoder, data_.text, options(bar.progress()));
}

Result<Answers> TuneJob::measure(const SentenceEncoder& encoder,
                                 const LabelProbe& probe) const {
  ProgressBar bar("test", "texts");
  return answers_of(encoder, probe, data_.measured(), options(bar.progress()));
}

// ---- The classifier alone. ----

Outcome TuneJob::train_classifier() {
  const auto encoder = read_model(flags_.model);
  if (!encoder) {
    return failure_of(encoder.error());
  }
  report_.max_tokens =
      tune_settings_of(flags_, {}, encoder->settings().max_tokens).max_tokens;
  if (auto ids = tokenize(*encoder); !ids) {
    return failure_of(ids.error());
  }
  const auto probe = classifier_of(*encoder);
  if (!probe) {
    return failure_of(probe.error());
  }
  auto after = measure(*encoder, *probe);
  if (!after) {
    return failure_of(after.error());
  }
  report_.steps = ProbeTraining{}.steps;
  report_.compared_with = "always the commonest label";
  report_.before = commonest_label_answers(data_);
  report_.after = *std::move(after);
  return finish({.probe = &*probe});
}

// ---- The whole model. ----

Result<TuneRun> TuneJob::start(SentenceEncoder encoder,
                               const Checkpoint& checkpoint) {
  const TuneSettings settings =
      tune_settings_of(flags_, checkpoint, encoder.settings().max_tokens);
  report_.max_tokens = settings.max_tokens;
  auto ids = tokenize(encoder);
  HEADWISE_TRY(ids);
  auto probe = classifier_of(encoder);
  HEADWISE_TRY(probe);
  auto before = measure(encoder, *probe);
  HEADWISE_TRY(before);
  report_.compared_with = "the classifier alone, on the source's encoder";
  report_.before = *std::move(before);
  return TuneRun::create(settings, std::move(encoder), *std::move(probe),
                         {*std::move(ids), data_.targets, data_.sha256});
}

// A checkpoint every 25 steps and at the end.
Outcome TuneJob::take_steps(TuneRun& run) {
  const Stopwatch stopwatch(report_.seconds);
  ProgressBar bar("train", "steps");
  const Progress progress = bar.progress();
  while (run.steps() < run.total_steps()) {
    if (Status s = run.step(executor_); !s) {
      return failure_of(s.error());
    }
    if (progress) {
      bar.set_note(fmt::format("loss={:.3f}", run.losses().back()));
      progress(run.steps(), run.total_steps());
    }
    if (run.steps() % kStepsACheckpoint != 0 &&
        run.steps() != run.total_steps()) {
      continue;
    }
    // Made only now: a run that fails before leaves no folder.
    Status s = make_folder("--out", flags_.out);
    s = s ? run.write_checkpoint_to(checkpoint_path(flags_.out)) : s;
    if (!s) {
      return failure_to_write(s.error());
    }
    has_checkpoint_ = true;
    if (flags_.json) {
      if (Outcome failed = print(streams_.out, json_of_step(run))) {
        return failed;
      }
    }
  }
  return {};
}

Outcome TuneJob::train_all() {
  Checkpoint checkpoint;
  const std::string path = checkpoint_path(flags_.resume);
  if (!flags_.resume.empty()) {
    auto read = read_checkpoint(path);
    if (!read) {
      return failure_of(read.error());
    }
    checkpoint = *std::move(read);
  }
  auto encoder = read_model(flags_.model, BertUse::training);
  if (!encoder) {
    return failure_of(encoder.error());
  }
  auto run = start(*std::move(encoder), checkpoint);
  if (!run) {
    return failure_of(run.error());
  }
  if (!flags_.resume.empty()) {
    if (Status s = run->resume(checkpoint, path); !s) {
      return failure_of(s.error());
    }
    checkpoint = {};
  }
  if (Outcome failed = take_steps(*run)) {
    return failed;
  }
  auto after = measure(run->encoder(), run->probe());
  if (!after) {
    return failure_of(after.error());
  }
  report_.steps = run->steps();
  report_.epoch_losses = run->epoch_losses();
  report_.after = *std::move(after);
  ModelChanges changes{.params = run->encoder().encoder().params(),
                       .probe = &run->probe()};
  if (has_checkpoint_) {
    changes.keep.emplace_back(kCheckpointFile);
  }
  return finish(std::move(changes));
}

// ---- Both. ----

Outcome TuneJob::finish(ModelChanges changes) {
  changes.keep_other_files = flags_.force;
  if (Status s = write_model(flags_.model, flags_.out, changes); !s) {
    return failure_to_write(s.error());
  }
  return print(streams_.out, flags_.json ? json_of(flags_, data_, report_)
                                         : text_of(flags_, data_, report_));
}

Outcome wrong_values(const TuneFlags& flags) {
  if (flags.data.empty()) {
    return usage("--data is required with --model");
  }
  if (flags.data == "-" && flags.test == "-") {
    return usage("--data and --test are both standard input");
  }
  if (flags.max_tokens && *flags.max_tokens < kFewestTokens) {
    return usage(
        fmt::format("--max-tokens is {}, expected at least {}, for "
                    "[CLS] and [SEP]",
                    *flags.max_tokens, kFewestTokens));
  }
  return {};
}

FilePlan files_of(const TuneFlags& flags) {
  FilePlan plan;
  plan.input("--model", flags.model);
  plan.input("--data", flags.data);
  plan.input("--test", flags.test);
  if (!flags.resume.empty() && !resumes_in_place(flags)) {
    plan.input("--resume", checkpoint_path(flags.resume));
  }
  if (flags.trains_all()) {
    plan.outputs_in("--out", flags.out, {std::string(kCheckpointFile)},
                    /*parents=*/false);
  }
  plan.replaced_folder("--out", flags.out, /*parents=*/false);
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome check_files(const TuneFlags& flags) {
  recover_folder(flags.out);
  if (Outcome failed = files_of(flags).check()) {
    return failed;
  }
  return check_model_out({.folder = flags.out,
                          .source = flags.model,
                          .force = flags.force,
                          .replaces_models = resumes_in_place(flags)});
}

}  // namespace

Outcome run_tune(const TuneFlags& flags, const Streams& streams) {
  if (Outcome wrong = wrong_values(flags)) {
    return wrong;
  }
  if (Outcome failed = check_files(flags)) {
    return failed;
  }
  const auto executor = flags.threads == 0
                            ? Result<Executor>(Executor::default_executor())
                            : Executor::with_threads(flags.threads);
  if (!executor) {
    return failure_of(executor.error());
  }
  auto data = read_tune_data(flags);
  if (!data) {
    return failure_of(data.error());
  }
  TuneJob job(flags, streams, *executor, *std::move(data));
  return flags.trains_all() ? job.train_all() : job.train_classifier();
}

}  // namespace headwise::cli
