// headwise train
// A small attention classifier on generated sequences (--task), or a classifier
// of sentences out of a model folder (--model).
#include <fmt/format.h>

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

using enum OptionRule::Kind;

// Options that the chosen form would not look at.
constexpr OptionRule kRules[] = {
    {"--seed+--model|--learning-rate+--model|--resume+--model", needs,
     "--train all", "--train all when --model is used"},
    {"--task|--scoring|--steps", excludes, "--model"},
    {"--data|--test|--train|--max-tokens|--batch|--epochs", needs, "--model",
     "--model DIR"},
    {"--batch+--model|--epochs+--model", needs, "--train all",
     "--train all when --model is used"}};

void add_task_options(const Arguments& task, TrainFlags& flags) {
  task.add(
      {{"--task", &flags.task, choice(task_names()),
        "recall (default): find the value of a key with self-attention; "
        "reverse: reverse a sequence with an encoder-decoder; induction: "
        "continue words that come twice with a causal model of two layers"},
       {"--scoring", &flags.scoring, choice({"dot", "additive"}),
        "how queries and keys are compared: q.k (default), or w . tanh(q + k)",
        advanced()},
       {"--steps", &flags.steps, count(),
        fmt::format("number of training steps, including those before --resume "
                    "(default {}; induction {})",
                    kTaskSteps, kInductionSteps)}});
}

void add_model_options(const Arguments& model, TrainFlags& flags) {
  const ClassifierSettings defaults;
  model.add({{"--model", &flags.model, input_file("DIR"),
              "the folder of the encoder to start from"},
             {"--data", &flags.data, input_file("FILE|-"),
              "one example per line: label, tab, text"},
             {"--test", &flags.test, input_file("FILE|-"),
              "measure accuracy on these examples (default: --data)"},
             {"--train", &flags.train, choice({"probe", "all"}),
              "train only a linear classifier on the embeddings (default), or "
              "all parameters"},
             {"--max-tokens", &flags.max_tokens, count(),
              "maximum tokens per text; longer texts are cut (default: the "
              "model's limit)",
              advanced()},
             {"--batch", &flags.batch, count(),
              fmt::format("with --train all: examples per step (default {})",
                          defaults.batch),
              advanced()},
             {"--epochs", &flags.epochs, count(),
              fmt::format("with --train all: number of epochs, including those "
                          "before --resume (default {})",
                          defaults.epochs)}});
}

void add_shared_options(const Arguments& command, TrainFlags& flags) {
  command.add(
      {{"--seed", &flags.seed, number(),
        "seed of the parameters, the sequences and the order of examples "
        "(default 0)",
        advanced()},
       {"--learning-rate", &flags.learning_rate,
        real("X", number_between(0, 1e30, "a number from 0 to 1e30")),
        fmt::format("learning rate of AdamW (default {}; with --train all {})",
                    TaskSettings{}.learning_rate,
                    ClassifierSettings{}.learning_rate),
        advanced()},
       threads_option(flags.threads),
       arithmetic_option(flags.arithmetic),
       deadline_option(flags.deadline),
       {"--out", &flags.out, text("DIR"),
        "output folder, created if missing. A task writes checkpoint.npz, "
        "params.npz, tokens.txt and curve.svg, induction instead a model "
        "folder and texts.txt; --model writes a model folder, with --train all "
        "also checkpoint.npz",
        required()},
       {"--resume", &flags.resume, text("DIR"),
        "resume from the checkpoint in this folder; the result has the same "
        "bits as an uninterrupted run"},
       {"--force", &flags.force, flag(),
        "write to --out even if it holds an earlier result (replaced) or other "
        "files (kept)"},
       {"--json", &flags.json, printed(), "print JSON, one object per line"}});
}

void add_options(const Arguments& command, TrainFlags& flags) {
  command.keep_line(flags.line);
  add_shared_options(command, flags);
  add_task_options(command.under("On generated sequences"), flags);
  add_model_options(command.under("On your own sentences"), flags);
}

Outcome run_train(const TrainFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kRules));
  HEADWISE_ASSIGN(const auto group, join_job(longest_wait(flags.deadline)));
  if (flags.has_model()) {
    return run_sentences(flags, streams, *group);
  }
  HEADWISE_TRY(agreed(*group, group->ranks() == 1
                                  ? Outcome()
                                  : usage("--task cannot be used by several "
                                          "processes")));
  if (!is_induction(flags)) {
    return run_task(flags, streams);
  }
  return flags.scoring.empty()
             ? run_induction(flags, streams)
             : usage("--scoring cannot be used with --task induction");
}

}  // namespace

void add_train(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_train);
}

}  // namespace headwise::cli
