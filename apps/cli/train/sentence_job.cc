// `headwise train --model`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/write_model.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/sentence_classifier.h"
#include "operation/arithmetic_option.h"
#include "out_folder.h"
#include "sentence_data.h"
#include "sentence_report.h"
#include "shell/error_of_option.h"
#include "shell/file_place.h"
#include "shell/file_plan.h"
#include "shell/models/model_out.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/ranks/rank_job.h"
#include "shell/ranks/same_file.h"
#include "shell/say.h"
#include "shell/threads.h"
#include "shell/visible_work.h"
#include "task_files.h"
#include "train_jobs.h"

namespace headwise::cli {
namespace {

// An interrupted run loses fewer than these.
constexpr std::uint64_t kStepsPerCheckpoint = 25;
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

// What was not given is as in the checkpoint, if there is one, else the
// default. A text has at most `most_tokens`, those of the model.
ClassifierSettings sentence_settings(const TrainFlags& flags,
                                     const Checkpoint& checkpoint,
                                     std::size_t most_tokens) {
  ClassifierSettings settings = classifier_settings_of(checkpoint);
  settings.seed = Seed{flags.seed.value_or(settings.seed.value)};
  settings.batch = flags.batch.value_or(settings.batch);
  settings.epochs = flags.epochs.value_or(settings.epochs);
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.arithmetic = arithmetic_of(flags.arithmetic, settings.arithmetic);
  const std::size_t max_tokens = flags.max_tokens.value_or(settings.max_tokens);
  settings.max_tokens =
      max_tokens == 0 ? most_tokens : std::min(max_tokens, most_tokens);
  return settings;
}

// Of a library call that all ranks make together.
template <class T>
Result<T> of_all(Result<T> result) {
  const Status s = of_all_ranks(result);
  return s ? std::move(result) : s.error();
}
// Of what each rank does by itself.
template <class T>
Result<T> agreed_on(Communicator& group, Result<T> own) {
  const Status s = agreed(group, own);
  return s ? std::move(own) : s.error();
}

// Whether all ranks have read the same. `digest` gives the SHA-256 of what an
// option names; one process alone needs none.
template <class Digest>
Outcome check_same_digest(Communicator& group, std::string_view option,
                          const Digest& digest) {
  if (group.ranks() == 1) {
    return {};
  }
  HEADWISE_ASSIGN(
      const auto sha256,
      agreed_on(group, work_visibly(&group, [&]() -> Result<std::string> {
                  return digest();
                })));
  return check_same_file(group, option, sha256);
}

class SentenceJob {
 public:
  SentenceJob(const TrainFlags& flags, const Streams& streams,
              Communicator& group, const Executor& executor, SentenceData data)
      : flags_(flags),
        streams_(streams),
        group_(group),
        executor_(executor),
        data_(std::move(data)),
        has_checkpoint_(resumes_in_place(flags)) {}

  Outcome train_classifier();
  Outcome train_all();

 private:
  SentenceOptions options(Progress progress = {}) const {
    return {.progress = std::move(progress),
            .max_tokens = report_.max_tokens,
            .executor = &executor_};
  }
  Result<SentenceEncoder> read_encoder(ModelUse use,
                                       const Checkpoint& checkpoint);
  Outcome check_same_model(const SentenceEncoder& encoder) const;
  Status count_cut(const SentenceEncoder& encoder);
  Result<LabelProbe> classifier_of(const SentenceEncoder& encoder);
  Result<Answers> measure(const SentenceEncoder& encoder,
                          const LabelProbe& probe) const;
  Outcome read_resumed(const std::string& path, Checkpoint& checkpoint) const;
  Result<ClassifierRun> start(SentenceEncoder encoder,
                              const Checkpoint& checkpoint);
  Outcome save(const ClassifierRun& run);
  Outcome take_steps(ClassifierRun& run);
  Outcome finish(ModelChanges changes);
  bool writes() const { return group_.rank() == 0; }

  const TrainFlags& flags_;
  const Streams& streams_;
  Communicator& group_;
  const Executor& executor_;
  SentenceData data_;
  SentenceReport report_;
  bool has_checkpoint_ = false;  // of this run, in --out
};

Result<SentenceEncoder> SentenceJob::read_encoder(
    ModelUse use, const Checkpoint& checkpoint) {
  report_.arithmetic = arithmetic_of(
      flags_.arithmetic, classifier_settings_of(checkpoint).arithmetic);
  const ModelAccess access = {.use = use, .arithmetic = report_.arithmetic};
  return agreed_on(group_, work_visibly(&group_, [&] {
                     return read_model(flags_.model, access);
                   }));
}

Outcome SentenceJob::check_same_model(const SentenceEncoder& encoder) const {
  return check_same_digest(group_, "--model", [&] {
    return digest_of_model(flags_.model, encoder);
  });
}

Status SentenceJob::count_cut(const SentenceEncoder& encoder) {
  HEADWISE_ASSIGN(const auto tokens,
                  encoder.tokenize(data_.text.texts, options()));
  report_.cut = static_cast<std::size_t>(std::ranges::count_if(
      tokens.cut, [](std::size_t tokens_cut) { return tokens_cut != 0; }));
  return ok();
}

Result<LabelProbe> SentenceJob::classifier_of(const SentenceEncoder& encoder) {
  const Stopwatch stopwatch(report_.seconds);
  ProgressBar bar("embed", "texts");
  return of_all(
      train_probe(encoder, data_.text, options(bar.progress()), &group_));
}

Result<Answers> SentenceJob::measure(const SentenceEncoder& encoder,
                                     const LabelProbe& probe) const {
  ProgressBar bar("test", "texts");
  return of_all(answers_of(encoder, probe, data_.measured(),
                           options(bar.progress()), &group_));
}

// ---- The classifier alone. ----

Outcome SentenceJob::train_classifier() {
  HEADWISE_ASSIGN(const auto encoder, read_encoder(ModelUse::inference, {}));
  HEADWISE_TRY(check_same_model(encoder));
  report_.max_tokens =
      sentence_settings(flags_, {}, encoder.settings().max_tokens).max_tokens;
  HEADWISE_TRY(agreed(
      group_, work_visibly(&group_, [&] { return count_cut(encoder); })));
  HEADWISE_ASSIGN(const auto probe, classifier_of(encoder));
  HEADWISE_ASSIGN(auto after, measure(encoder, probe));
  report_.steps = ProbeTraining{}.steps;
  report_.compared_with = "always the commonest label";
  report_.before = most_common_label_answers(data_);
  report_.after = std::move(after);
  return finish({.probe = &probe});
}

// ---- The whole model. ----

Result<ClassifierRun> SentenceJob::start(SentenceEncoder encoder,
                                         const Checkpoint& checkpoint) {
  const ClassifierSettings settings =
      sentence_settings(flags_, checkpoint, encoder.settings().max_tokens);
  report_.max_tokens = settings.max_tokens;
  HEADWISE_ASSIGN(auto probe, classifier_of(encoder));
  auto examples = agreed_on(group_, work_visibly(&group_, [&] {
                              return ClassifierExamples::of(data_.text, encoder,
                                                            probe, options());
                            }));
  HEADWISE_TRY(examples);
  report_.cut = examples->cut;
  HEADWISE_ASSIGN(auto before, measure(encoder, probe));
  report_.compared_with = "classifier only, encoder unchanged";
  report_.before = std::move(before);
  return of_all(ClassifierRun::create(settings, std::move(encoder),
                                      std::move(probe), *std::move(examples),
                                      &group_));
}

Outcome SentenceJob::save(const ClassifierRun& run) {
  // Only now, so that a run that fails earlier leaves no folder.
  const auto made =
      writes() ? make_out_folder(flags_.out) : Result<bool>(false);
  HEADWISE_TRY(
      agreed(group_, made ? Outcome() : failure_to_write(made.error())));
  const Outcome saved = agreed(
      group_, written(run.write_checkpoint_to(checkpoint_path(flags_.out))));
  if (!saved && *made) {
    remove_empty_folder(flags_.out);
  }
  HEADWISE_TRY(saved);
  has_checkpoint_ = true;
  return flags_.json && writes() ? print(streams_.out, json_of_step(run))
                                 : Outcome();
}

// A checkpoint every 25 steps and at the end.
Outcome SentenceJob::take_steps(ClassifierRun& run) {
  const Stopwatch stopwatch(report_.seconds);
  ProgressBar bar("train", "steps");
  const Progress progress = bar.progress();
  while (run.steps() < run.total_steps()) {
    HEADWISE_TRY(of_all_ranks(run.step(executor_)));
    if (progress) {
      bar.set_note(say("loss={:.3f}", run.losses().back()));
      progress(run.steps(), run.total_steps());
    }
    if (run.steps() % kStepsPerCheckpoint == 0 ||
        run.steps() == run.total_steps()) {
      HEADWISE_TRY(save(run));
    }
  }
  return {};
}

// A process without --resume takes part, too: it must not begin anew while the
// others resume.
Outcome SentenceJob::read_resumed(const std::string& path,
                                  Checkpoint& checkpoint) const {
  const bool resumes = !flags_.resume.empty();
  auto read =
      agreed_on(group_, work_visibly(&group_, [&]() -> Result<Checkpoint> {
                  return resumes ? read_run(flags_.resume) : Checkpoint();
                }));
  HEADWISE_TRY(read);
  HEADWISE_TRY(
      check_same_digest(group_, "--resume", [&]() -> Result<std::string> {
        return resumes ? sha256_of_file(path) : std::string("no file");
      }));
  checkpoint = *std::move(read);
  return {};
}

Outcome SentenceJob::train_all() {
  const std::string path = checkpoint_path(flags_.resume);
  Checkpoint checkpoint;
  HEADWISE_TRY(read_resumed(path, checkpoint));
  HEADWISE_ASSIGN(auto encoder, read_encoder(ModelUse::training, checkpoint));
  HEADWISE_TRY(check_same_model(encoder));
  HEADWISE_ASSIGN(auto run, start(std::move(encoder), checkpoint));
  if (!flags_.resume.empty()) {
    const Status s = run.resume(checkpoint, path);
    HEADWISE_TRY(
        agreed(group_, s ? Outcome() : Outcome(error_of_argument(s.error()))));
    checkpoint = {};
  }
  HEADWISE_TRY(take_steps(run));
  HEADWISE_ASSIGN(auto after, measure(run.encoder(), run.probe()));
  report_.steps = run.steps();
  report_.epoch_losses = run.epoch_losses();
  report_.after = std::move(after);
  ModelChanges changes = run.changes();
  if (has_checkpoint_) {
    changes.keep.emplace_back(kCheckpointFile);
  }
  return finish(std::move(changes));
}

// ---- Both. ----

Outcome SentenceJob::finish(ModelChanges changes) {
  changes.keep_other_files = flags_.force;
  HEADWISE_TRY(agreed(
      group_, writes() ? written(work_visibly(&group_,
                                              [&] {
                                                return write_model(flags_.model,
                                                                   flags_.out,
                                                                   changes);
                                              }))
                       : Outcome()));
  if (!writes()) {
    return {};
  }
  return print(streams_.out, flags_.json ? json_of(flags_, data_, report_)
                                         : text_of(flags_, data_, report_));
}

// Each process reads the files.
Outcome check_standard_input(const TrainFlags& flags, std::size_t ranks) {
  for (const auto& [option, file] :
       {std::pair("--data", &flags.data), std::pair("--test", &flags.test)}) {
    if (ranks > 1 && *file == "-") {
      return usage(option, "is standard input",
                   "a file, which each of the processes reads");
    }
  }
  return {};
}

Outcome wrong_values(const TrainFlags& flags) {
  if (flags.data.empty()) {
    return usage("--data is required with --model");
  }
  if (flags.data == "-" && flags.test == "-") {
    return usage("--data and --test are both standard input");
  }
  if (flags.max_tokens && *flags.max_tokens < kFewestTokens) {
    return usage("--max-tokens", message("is {}", *flags.max_tokens),
                 message("at least {}, for [CLS] and [SEP]", kFewestTokens));
  }
  return {};
}

Outcome check_files(const TrainFlags& flags) {
  recover_model(flags.out);
  std::vector<std::string> results;
  if (flags.trains_all()) {
    results.emplace_back(kCheckpointFile);
  }
  FilePlan files = files_of(flags, results);
  files.replaced_folder("--out", flags.out, /*parents=*/false);
  HEADWISE_TRY(files.check());
  HEADWISE_TRY(check_regular_files(flags.out, results));
  const bool resumable =
      flags.trains_all() &&
      place_of(checkpoint_path(flags.out)).status.has_value();
  return check_model_out({.folder = flags.out,
                          .source = flags.model,
                          .force = flags.force,
                          .replaces_models = resumes_in_place(flags),
                          .resumable = resumable});
}

}  // namespace

Outcome run_sentences(const TrainFlags& flags, const Streams& streams,
                      Communicator& group) {
  HEADWISE_TRY(agreed(group, wrong_values(flags)));
  HEADWISE_TRY(agreed(group, check_standard_input(flags, group.ranks())));
  // Only rank 0 writes.
  HEADWISE_TRY(
      agreed(group, group.rank() == 0 ? check_files(flags) : Outcome()));
  HEADWISE_ASSIGN(const auto executor,
                  agreed_on(group, executor_with(flags.threads)));
  HEADWISE_ASSIGN(auto data, agreed_on(group, work_visibly(&group, [&] {
                                         return read_sentence_data(flags);
                                       })));
  HEADWISE_TRY(
      check_same_digest(group, "--data", [&] { return data.text.sha256(); }));
  HEADWISE_TRY(check_same_digest(group, "--test", [&] {
    return data.test ? data.test->sha256() : std::string("no file");
  }));
  SentenceJob job(flags, streams, group, executor, std::move(data));
  return flags.trains_all() ? job.train_all() : job.train_classifier();
}

}  // namespace headwise::cli
