// headwise train
// Trains a small attention classifier on generated sequences, beside the same
// model with uniform attention weights, and shows what its heads have learned.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <string_view>

#include "args.h"
#include "command.h"
#include "train_flags.h"
#include "train_job.h"
#include "train_run.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise train --out run
  headwise train --task reverse --scoring additive --seed 7 --out run
  headwise train --steps 800 --resume run --out run
  headwise train --json --out run)";

void add_options(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--task", flags.task,
                  "recall (default): which value has this key, by "
                  "self-attention; reverse: the source from its end, by an "
                  "encoder-decoder")
      ->type_name(fmt::format("{}", fmt::join(train_task_names(), "|")))
      ->check(one_of(train_task_names()));
  command
      .add_option("--scoring", flags.scoring,
                  "what compares a query and a key: q.k (default), or "
                  "w . tanh(q + k)")
      ->type_name("dot|additive")
      ->check(one_of({"dot", "additive"}));
  command
      .add_option("--seed", flags.seed,
                  "of parameters and sequences (default 0)")
      ->type_name("N")
      ->transform(natural_number());
  add_count(command, "--steps", flags.steps,
            fmt::format("of training, those before --resume included (default "
                        "{})",
                        flags.steps));
  command
      .add_option(
          "--learning-rate", flags.learning_rate,
          fmt::format("of AdamW (default {})", TrainSettings{}.learning_rate))
      ->type_name("X")
      ->check(number_between(0, 1e30, "a number from 0 on"));
  add_count(command, "--threads", flags.threads,
            "threads to use (default: all)");
  command
      .add_option("--out", flags.out,
                  "folder of checkpoint.npz, params.npz, tokens.txt, "
                  "curve.svg; made where it is missing")
      ->type_name("DIR")
      ->required()
      ->check(not_empty());
  command
      .add_option("--resume", flags.resume,
                  "go on from the checkpoint in this folder; gives the same "
                  "bits as not having stopped")
      ->type_name("DIR")
      ->check(not_empty());
  command.add_flag("--json", flags.json, "print JSON, one object a line")
      ->disable_flag_override();
}

}  // namespace

void add_train(CLI::App& app, Command& chosen) {
  CLI::App* command = add_command(
      app, "train", "train a small model and see what its heads learn",
      std::string(kExamples));
  auto flags = std::make_shared<TrainFlags>();
  add_options(*command, *flags);
  command->callback([flags, &chosen] {
    chosen = [flags](const Streams& s) { return run_train(*flags, s); };
  });
}

}  // namespace headwise::cli
