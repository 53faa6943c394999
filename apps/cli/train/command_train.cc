// headwise train
// A small attention classifier on generated sequences (--task), or a classifier
// of sentences out of a model folder (--model).
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/train/classifier_run.h"
#include "headwise/train/induction_run.h"
#include "headwise/train/task_run.h"
#include "operation/arithmetic_option.h"
#include "shell/add_command.h"
#include "shell/ranks/deadline.h"
#include "shell/ranks/rank_job.h"
#include "shell/threads.h"
#include "task_words.h"
#include "train_jobs.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "train",
    .description = "train a small model, or turn your own into a classifier",
    .examples =
        R"(  headwise train --out run
  headwise train --task induction --out induction
  headwise train --task reverse --scoring additive --seed 7 --out reversed
  headwise train --steps 800 --resume run --out run
  headwise train --json --force --out run
  headwise train --model minilm --data train.tsv --test test.tsv --out probed
  headwise train --model minilm --data train.tsv --train all --out trained
  mpirun -n 4 headwise train --model minilm --data train.tsv --train all --out t)",
    .footer =
        R"(Under mpirun the processes divide the texts and the parameters of --model; the
files are the same. Each needs the model and the data; rank 0 writes --out.)"};

// Of which form, --task or --model, a run is.
struct Flags {
  TrainFlags shared;
  TaskFlags task;
  SentenceFlags model;
  std::vector<std::string> given;  // every option that was typed, by its name

  bool has_model() const { return !model.model.empty(); }
};

bool is_one_of(std::string_view name,
               std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// An option that the chosen form would not look at.
Outcome misplaced_option(const Flags& flags) {
  for (const std::string& name : flags.given) {
    const bool of_task = is_one_of(name, {"--task", "--scoring", "--steps"});
    const bool of_model = is_one_of(
        name,
        {"--data", "--test", "--train", "--max-tokens", "--batch", "--epochs"});
    const bool of_all = is_one_of(
        name, {"--batch", "--epochs", "--learning-rate", "--seed", "--resume"});
    if (of_task && flags.has_model()) {
      return usage(message("{} cannot be used with --model", name));
    }
    if (of_model && !flags.has_model()) {
      return usage(message("{} needs --model DIR", name));
    }
    if (of_all && flags.has_model() && !flags.model.trains_all()) {
      return usage(message("{} needs --train all when --model is used", name));
    }
  }
  return {};
}

void add_task_options(const Arguments& task, TaskFlags& flags) {
  task.add_choice(
      "--task", flags.task, task_names(),
      "recall (default): find the value of a key with self-attention; "
      "reverse: reverse a sequence with an encoder-decoder; induction: "
      "continue "
      "words that come twice with a causal model of two layers");
  task.add_choice("--scoring", flags.scoring, {"dot", "additive"},
                  "how queries and keys are compared: q.k (default), or w . "
                  "tanh(q + k)")
      .advanced();
  task.add_count("--steps", flags.steps,
                 fmt::format("number of training steps, including those before "
                             "--resume (default {}; induction {})",
                             kTaskSteps, kInductionSteps));
}

void add_model_options(const Arguments& model, SentenceFlags& flags) {
  const ClassifierSettings defaults;
  model.add_text("--model", flags.model, "DIR",
                 "the BERT-family model folder to start from");
  model.add_text("--data", flags.data, "FILE|-",
                 "one example per line: label, tab, text");
  model.add_text("--test", flags.test, "FILE|-",
                 "measure accuracy on these examples (default: --data)");
  model.add_choice("--train", flags.train, {"probe", "all"},
                   "train only a linear classifier on the embeddings "
                   "(default), or all parameters");
  model
      .add_count("--max-tokens", flags.max_tokens,
                 "maximum tokens per text; longer texts are cut (default: the "
                 "model's limit)")
      .advanced();
  model
      .add_count("--batch", flags.batch,
                 fmt::format("with --train all: examples per step (default {})",
                             defaults.batch))
      .advanced();
  model.add_count(
      "--epochs", flags.epochs,
      fmt::format("with --train all: number of epochs, including those "
                  "before --resume (default {})",
                  defaults.epochs));
}

void add_shared_options(const Arguments& command, TrainFlags& flags) {
  command
      .add_number("--seed", flags.seed,
                  "seed of the parameters, the sequences and the order of "
                  "examples (default 0)")
      .advanced();
  command
      .add_option(
          "--learning-rate", flags.learning_rate,
          fmt::format("learning rate of AdamW (default {}; with --train all "
                      "{})",
                      TaskSettings{}.learning_rate,
                      ClassifierSettings{}.learning_rate))
      .type_name("X")
      .check(number_between(0, 1e30, "a number from 0 to 1e30"))
      .advanced();
  add_threads_option(command, flags.threads);
  add_arithmetic_option(command, flags.arithmetic);
  add_deadline_option(command, flags.deadline);
  command
      .add_text(
          "--out", flags.out, "DIR",
          "output folder, created if missing. A task writes checkpoint.npz, "
          "params.npz, tokens.txt and curve.svg, induction instead a model "
          "folder and texts.txt; --model writes a model folder, with --train "
          "all also checkpoint.npz")
      .required();
  command.add_text("--resume", flags.resume, "DIR",
                   "resume from the checkpoint in this folder; the result has "
                   "the same bits as an uninterrupted run");
  command.add_flag("--force", flags.force,
                   "write to --out even if it holds an earlier result "
                   "(replaced) or other files (kept)");
  command.add_flag("--json", flags.json, "print JSON, one object per line");
}

void add_options(const Arguments& command, Flags& flags) {
  add_shared_options(command, flags.shared);
  add_task_options(command.under("On generated sequences"), flags.task);
  add_model_options(command.under("On your own sentences"), flags.model);
}

Outcome run_train(const Flags& flags, const Streams& streams) {
  HEADWISE_TRY(misplaced_option(flags));
  const auto group = join_job(longest_wait(flags.shared.deadline));
  HEADWISE_TRY(group);
  if (flags.has_model()) {
    return run_sentences(flags.model, streams, **group);
  }
  HEADWISE_TRY(agreed(**group, (*group)->ranks() == 1
                                   ? Outcome()
                                   : usage("--task cannot be used by several "
                                           "processes")));
  if (!is_induction(flags.task)) {
    return run_task(flags.task, streams);
  }
  return flags.task.scoring.empty()
             ? run_induction(flags.task, streams)
             : usage("--scoring cannot be used with --task induction");
}

}  // namespace

void add_train(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_train,
              [](const Arguments& command, Flags& flags) {
                flags.given = command.given_options();
                static_cast<TrainFlags&>(flags.task) = flags.shared;
                static_cast<TrainFlags&>(flags.model) = flags.shared;
              });
}

}  // namespace headwise::cli
