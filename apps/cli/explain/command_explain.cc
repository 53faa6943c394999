// headwise explain
// Runs the job step by step and prints each step: its number, name, operation,
// formula, shape and a few of its numbers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "examples.h"
#include "explain_job.h"
#include "explain_json.h"
#include "explain_model.h"
#include "explain_picture.h"
#include "explain_text.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/npy.h"
#include "operation/planned_inputs.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/file_plan.h"
#include "shell/language.h"
#include "shell/output.h"
#include "shell/progress_bar.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise explain
  headwise explain --example masked
  headwise explain --tokens batch.json --mask-kind padding+causal
  headwise explain --step attn_weights --out attn_weights.npy
  headwise explain --heads heads.svg --sequence 7
  headwise explain --model all-MiniLM-L6-v2 "Heads matter." --layer 1
  headwise explain --json --lang ko)";

// The default is the first.
std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const Example& example : examples()) {
    names.emplace_back(example.name);
  }
  return names;
}

std::string examples_table() {
  std::size_t longest = 0;
  for (const std::string& name : example_names()) {
    longest = std::max(longest, name.size());
  }
  std::string text = "Built-in jobs (--example NAME):\n";
  for (const Example& example : examples()) {
    text += fmt::format("  {:<{}}  {}\n", example.name, longest, example.about);
  }
  return text.substr(0, text.size() - 1);
}

Failure no_such_step(const ExplainedJob& job, const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const TracedStep& step : job.steps) {
    names.push_back(step.name);
    list += (list.empty() ? "" : ", ") + step.name;
  }
  const std::string near = closest(name, names);
  return usage(fmt::format(
      "--step {} is no step of this job, expected one of {}{}", name, list,
      near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

// The files that were asked for beside the printed steps.
Outcome write_files(const ExplainFlags& flags, const ExplainedJob& job,
                    const TracedStep& out_step) {
  if (!flags.out.empty()) {
    if (Status s = write_npy(flags.out, out_step.view()); !s) {
      return failure_to_write(s.error());
    }
  }
  if (flags.heads.empty()) {
    return {};
  }
  const auto picture = explain_picture(job, flags.sequence, language());
  if (!picture) {
    return failure_of(picture.error());
  }
  if (Status s = write_file_atomically(flags.heads,
                                       std::as_bytes(std::span(*picture)));
      !s) {
    return failure_to_write(s.error());
  }
  return {};
}

FilePlan files_of(const ExplainFlags& flags) {
  FilePlan plan;
  plan.input("--model", flags.model);
  plan.input("--tokens", flags.tokens);
  plan.input("--target-tokens", flags.target_tokens);
  plan.input("--params", flags.params);
  plan_inputs(plan, flags.operation);
  plan.output("--out", flags.out);
  plan.output("--heads", flags.heads);
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome run_explain(const ExplainFlags& flags, const Streams& streams) {
  if (flags.shapes_only && !(flags.out.empty() && flags.heads.empty())) {
    return usage("--shapes-only computes nothing: leave --out and --heads out");
  }
  const FilePlan files = files_of(flags);
  if (Outcome failed = files.check()) {
    return failed;
  }
  const auto job = [&] {
    if (!flags.model.empty() || flags.sentence) {
      return run_model_job(flags);
    }
    ProgressBar bar{"padding", "sequences"};
    return run_job(flags, bar.progress());
  }();
  if (!job) {
    return failure_of(job.error());
  }
  const TracedStep* step = nullptr;
  if (!flags.step.empty()) {
    step = job->find(flags.step);
    if (step == nullptr) {
      return no_such_step(*job, flags.step);
    }
  }
  if (Outcome failed = write_files(
          flags, *job, step != nullptr ? *step : job->steps.back())) {
    return failed;
  }
  if (flags.json) {
    return print(streams.out, explain_json(*job, step, language()));
  }
  return files.print_summary(streams, step != nullptr
                                          ? step_text(*job, *step, language())
                                          : explain_text(*job, language()));
}

void add_model_options(const Arguments& command, ExplainFlags& flags) {
  command.add_option("SENTENCE", flags.sentence, "the sentence for --model")
      .type_name("");
  command
      .add_option("--model", flags.model,
                  "a BERT-family model folder (config.json, vocab.txt, "
                  "model.safetensors); shows its layer --layer")
      .type_name("DIR")
      .check(not_empty())
      .group("Input");
}

void add_input_options(const Arguments& command, ExplainFlags& flags) {
  command
      .add_option("--example", flags.example,
                  "a built-in job, listed below (default: the first)")
      .type_name("NAME")
      .check(one_of(example_names()))
      .group("Input");
  command
      .add_option("--tokens", flags.tokens,
                  "token ids: JSON [[62, 13], [60]], or one sequence per line")
      .type_name("FILE|-")
      .check(not_empty())
      .group("Input");
  command
      .add_option(
          "--target-tokens", flags.target_tokens,
          "token ids of the queries; --tokens then gives the keys and values")
      .type_name("FILE")
      .check(not_empty())
      .group("Input")
      .advanced();
  command.add_option("--pad-id", flags.pad_id, "padding id (default 0)")
      .type_name("ID")
      .transform(whole_number())
      .group("Input")
      .advanced();
  command
      .add_option("--padding-by", flags.padding_by,
                  "which tokens are padding: those beyond the length "
                  "(default), or any with the padding id")
      .type_name("length|id")
      .check(one_of({"length", "id"}))
      .group("Input")
      .advanced();
  command
      .add_option("--mask-kind", flags.mask_kind,
                  "who may attend to whom (default none)")
      .type_name("none|padding|causal|padding+causal")
      .check(one_of({"none", "padding", "causal", "padding+causal"}))
      .group("Input");
}

void add_layer_options(const Arguments& command, ExplainFlags& flags) {
  command
      .add_count("--vocab-size", flags.vocab_size,
                 "rows of the embedding (default 100)")
      .group("Layer")
      .advanced();
  command
      .add_count("--embed-dim", flags.embed_dim,
                 "size of a token's vector (default 512)")
      .group("Layer");
  command
      .add_count("--num-heads", flags.num_heads,
                 "number of heads (default 8, or as in --params)")
      .group("Layer");
  command
      .add_count("--num-kv-heads", flags.num_kv_heads,
                 "number of key/value heads (default: --num-heads)")
      .group("Layer")
      .advanced();
  command
      .add_option("--seed", flags.seed,
                  "seed of the random parameters (default 0)")
      .type_name("N")
      .transform(natural_number())
      .group("Layer")
      .advanced();
  command
      .add_option(
          "--params", flags.params,
          "read the parameters from a folder of .npy files, a .npz or a "
          ".safetensors: w_q.weight, w_q.bias, likewise w_k, w_v and w_o, "
          "w_score.weight for additive scoring, and embedding.weight")
      .type_name("DIR|FILE")
      .check(not_empty())
      .group("Layer");
  add_layer_choice(command, flags.layer, "--params or --model");
}

void add_output_options(const Arguments& command, ExplainFlags& flags) {
  command
      .add_flag("--shapes-only", flags.shapes_only,
                "print every shape and compute nothing")
      .group("Output");
  command.add_option("--step", flags.step, "print one step's whole tensor")
      .type_name("NAME")
      .check(not_empty())
      .group("Output");
  command.add_flag("--json", flags.json, "print JSON").group("Output");
  command
      .add_option("--out", flags.out,
                  "write the output, or the tensor of --step")
      .type_name("FILE.npy")
      .check(not_empty())
      .group("Output");
  command
      .add_option("--heads", flags.heads,
                  "draw every head of one sequence as a heat map")
      .type_name("FILE.svg")
      .check(not_empty())
      .group("Output");
  command
      .add_option("--sequence", flags.sequence,
                  "sequence drawn by --heads (default 0)")
      .type_name("B")
      .transform(natural_number())
      .group("Output");
}

}  // namespace

void add_explain(const Arguments& app, Command& chosen) {
  const Arguments command = app.add_command(
      "explain", "run multi-head attention step by step and show it",
      std::string(kExamples));
  command.footer(examples_table());
  auto flags = std::make_shared<ExplainFlags>();
  add_model_options(command, *flags);
  add_input_options(command, *flags);
  add_layer_options(command, *flags);
  add_output_options(command, *flags);
  add_operation_options(command, flags->operation);
  command.on_parsed([flags, command, &chosen] {
    flags->given = command.given_options();
    chosen = [flags](const Streams& s) { return run_explain(*flags, s); };
  });
}

}  // namespace headwise::cli
