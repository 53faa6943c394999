// headwise train
// A small attention classifier on generated sequences (--task), or a classifier
// of sentences out of a model folder (--model).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/train/classifier_run.h"
#include "headwise/train/task_run.h"
#include "sentence_job.h"
#include "shell/args.h"
#include "shell/command.h"
#include "task_job.h"
#include "task_words.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise train --out run
  headwise train --task reverse --scoring additive --seed 7 --out reversed
  headwise train --steps 800 --resume run --out run
  headwise train --json --force --out run
  headwise train --model minilm --data train.tsv --test test.tsv --out probed
  headwise train --model minilm --data train.tsv --train all --out trained)";

// Of which form, --task or --model, a run is.
struct Flags {
  TrainFlags shared;
  TaskFlags task;
  SentenceFlags model;

  bool has_model() const { return !model.model.empty(); }
};

bool is_one_of(std::string_view name,
               std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// An option that the chosen form would not look at.
Outcome misplaced_option(const std::vector<std::string>& given,
                         const Flags& flags) {
  for (const std::string& name : given) {
    const bool of_task = is_one_of(name, {"--task", "--scoring", "--steps"});
    const bool of_model = is_one_of(
        name,
        {"--data", "--test", "--train", "--max-tokens", "--batch", "--epochs"});
    const bool of_all = is_one_of(
        name, {"--batch", "--epochs", "--learning-rate", "--seed", "--resume"});
    if (of_task && flags.has_model()) {
      return usage(fmt::format(
          "{} is of the tasks, expected no such option with --model", name));
    }
    if (of_model && !flags.has_model()) {
      return usage(fmt::format("{} is given, expected --model DIR too", name));
    }
    if (of_all && flags.has_model() && !flags.model.trains_all()) {
      return usage(fmt::format(
          "{} is given with --model, expected --train all too", name));
    }
  }
  return {};
}

void add_task_options(const Arguments& command, TaskFlags& flags) {
  const std::string group = "On generated sequences";
  command
      .add_option(
          "--task", flags.task,
          "recall (default): find the value of a key, by self-attention; "
          "reverse: the source in reverse order, by an encoder-decoder")
      .type_name(fmt::format("{}", fmt::join(task_names(), "|")))
      .check(one_of(task_names()))
      .group(group);
  command
      .add_option("--scoring", flags.scoring,
                  "how queries and keys are compared: q.k (default), or w . "
                  "tanh(q + k)")
      .type_name("dot|additive")
      .check(one_of({"dot", "additive"}))
      .group(group)
      .advanced();
  command
      .add_count("--steps", flags.steps,
                 fmt::format("number of training steps, including those before "
                             "--resume (default {})",
                             flags.steps))
      .group(group);
}

void add_model_options(const Arguments& command, SentenceFlags& flags) {
  const ClassifierSettings defaults;
  const std::string group = "On your own sentences";
  const auto add_text = [&](const char* name, std::string& value,
                            const char* about, const char* type) {
    return command.add_option(name, value, about)
        .type_name(type)
        .check(not_empty())
        .group(group);
  };
  add_text("--model", flags.model, "the BERT-family model folder to start from",
           "DIR");
  add_text("--data", flags.data, "one example per line: label, tab, text",
           "FILE|-");
  add_text("--test", flags.test,
           "measure accuracy on these examples (default: --data)", "FILE|-");
  add_text("--train", flags.train,
           "train only a linear classifier on the embeddings (default), or all "
           "parameters",
           "probe|all")
      .check(one_of({"probe", "all"}));
  command
      .add_count("--max-tokens", flags.max_tokens,
                 "maximum tokens per text; longer texts are cut (default: the "
                 "model's limit)")
      .group(group)
      .advanced();
  command
      .add_count("--batch", flags.batch,
                 fmt::format("with --train all: examples per step (default {})",
                             defaults.batch))
      .group(group)
      .advanced();
  command
      .add_count(
          "--epochs", flags.epochs,
          fmt::format("with --train all: number of epochs, including those "
                      "before --resume (default {})",
                      defaults.epochs))
      .group(group);
}

void add_shared_options(const Arguments& command, TrainFlags& flags) {
  command
      .add_option("--seed", flags.seed,
                  "seed of the parameters, the sequences and the order of "
                  "examples (default 0)")
      .type_name("N")
      .transform(natural_number())
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
  command.add_count("--threads", flags.threads,
                    "number of threads (default: all)");
  command
      .add_option(
          "--out", flags.out,
          "output folder, created if missing. A task writes checkpoint.npz, "
          "params.npz, tokens.txt and curve.svg; --model writes a model "
          "folder, with --train all also checkpoint.npz")
      .type_name("DIR")
      .required()
      .check(not_empty());
  command
      .add_option("--resume", flags.resume,
                  "resume from the checkpoint in this folder; the result has "
                  "the same bits as an uninterrupted run")
      .type_name("DIR")
      .check(not_empty());
  command.add_flag("--force", flags.force,
                   "write to --out even if it holds an earlier result "
                   "(replaced) or other files (kept)");
  command.add_flag("--json", flags.json, "print JSON, one object per line");
}

Outcome run_chosen(const Flags& flags, const std::vector<std::string>& given,
                   const Streams& streams) {
  if (Outcome misplaced = misplaced_option(given, flags)) {
    return misplaced;
  }
  return flags.has_model() ? run_sentences(flags.model, streams)
                           : run_task(flags.task, streams);
}

}  // namespace

void add_train(const Arguments& app, Command& chosen) {
  const Arguments command = app.add_command(
      "train", "train a small model, or turn yours into a classifier",
      std::string(kExamples));
  auto flags = std::make_shared<Flags>();
  add_shared_options(command, flags->shared);
  add_task_options(command, flags->task);
  add_model_options(command, flags->model);
  command.on_parsed([command, flags, &chosen] {
    static_cast<TrainFlags&>(flags->task) = flags->shared;
    static_cast<TrainFlags&>(flags->model) = flags->shared;
    chosen = [flags, given = command.given_options()](const Streams& s) {
      return run_chosen(*flags, given, s);
    };
  });
}

}  // namespace headwise::cli
