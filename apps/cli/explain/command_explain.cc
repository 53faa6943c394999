// headwise explain
// Runs the job step by step and prints each step: its number, name, operation,
// formula, shape and a few of its numbers.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "examples.h"
#include "explain/models/explain_model.h"
#include "explain_job.h"
#include "explain_json.h"
#include "explain_picture.h"
#include "explain_text.h"
#include "headwise/interop/npy.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/language.h"
#include "shell/output.h"
#include "shell/picture_file.h"
#include "shell/progress_bar.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "explain",
    .description = "run multi-head attention and show every step",
    .examples =
        R"(  headwise explain
  headwise explain --example masked
  headwise explain --tokens batch.json --mask-kind padding+causal
  headwise explain --step attn_weights --out attn_weights.npy
  headwise explain --picture heads.svg --sequence 7
  headwise explain --decode --rotary-base 10000
  headwise explain --model all-MiniLM-L6-v2 "Heads matter." --layer 1
  headwise explain --json --lang ko)"};

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
  std::string text = "Built-in examples (--example NAME):\n";
  for (const Example& example : examples()) {
    text += fmt::format("  {:<{}}  {}\n", example.name, longest, example.about);
  }
  return text.substr(0, text.size() - 1);
}

Error no_such_step(const ExplainedJob& job, const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const auto* const tensors : {&job.steps, &job.params}) {
    for (const TracedStep& step : *tensors) {
      names.push_back(step.name);
      list += (list.empty() ? "" : ", ") + step.name;
    }
  }
  return {ErrorCode::invalid_argument,
          {.argument = "--step " + name,
           .given = "is not a step of this run",
           .expected = message("one of {}", list),
           .hint = did_you_mean(closest(name, names))}};
}

// The files that were asked for beside the printed steps.
Outcome write_files(const ExplainFlags& flags, const ExplainedJob& job,
                    const TracedStep& out_step) {
  if (!flags.out.empty()) {
    HEADWISE_TRY(written(write_npy(flags.out, out_step.view())));
  }
  // A decode step is of one sequence.
  return write_picture(flags.picture, [&](double zoom) {
    return explain_picture(job, job.decode ? 0 : flags.sequence, language(),
                           zoom);
  });
}

using enum OptionRule::Kind;

constexpr OptionRule kRules[] = {
    {"--out|--picture", never, "--shapes-only",
     "--shapes-only computes nothing: leave --out and --picture out"},
    {"--sequence", always, "--model|--picture|--decode",
     "--sequence needs --picture FILE or --decode"},
    {"--bias-k|--bias-v|--zero-attn", apart, "--decode"},
    {"--bias-k|--bias-v", apart, "--params"}};

Outcome run_explain(const ExplainFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kRules));
  const FilePlan files = flags.line.files();
  HEADWISE_TRY(files.check());
  const auto job = [&] {
    if (!flags.model.empty() || flags.sentence) {
      return run_model_job(flags);
    }
    ProgressBar bar{"padding", "sequences"};
    return run_job(flags, bar.progress());
  }();
  HEADWISE_TRY(job);
  const TracedStep* step = nullptr;
  if (!flags.step.empty()) {
    step = job->find_tensor(flags.step);
    if (step == nullptr) {
      return no_such_step(*job, flags.step);
    }
  }
  HEADWISE_TRY(
      write_files(flags, *job, step != nullptr ? *step : job->steps.back()));
  if (flags.json) {
    return print(streams.out, explain_json(*job, step, language()));
  }
  return files.print_summary(
      streams, (step != nullptr ? step_text(*job, *step, language())
                                : explain_text(*job, language())) +
                   files.written_text());
}

void add_input_options(const Arguments& input, ExplainFlags& flags) {
  input.add(
      {{"--model", &flags.model, input_file("DIR|FILE"),
        "a model folder or a GGUF file; --layer selects the layer"},
       {"--example", &flags.example, choice(example_names(), "NAME"),
        "a built-in example, listed below (default: the first)"},
       {"--tokens", &flags.tokens, input_file("FILE|-"),
        "token ids: JSON [[62, 13], [60]], or one sequence per line"},
       {"--target-tokens", &flags.target_tokens, input_file("FILE"),
        "token ids of the queries; --tokens then gives the keys and values",
        advanced()},
       {"--query", &flags.query, npy(),
        "vectors, not token ids: (B, L, E) or (L, E)"},
       {"--key", &flags.key, npy(),
        "vectors that become keys (default: --query)", advanced()},
       {"--value", &flags.value, npy(),
        "vectors that become values (default: --key)", advanced()},
       {"--pad-id", &flags.pad_id, whole_number_of("ID"),
        "padding id (default 0)", advanced()},
       {"--padding-by", &flags.padding_by, choice({"length", "id"}),
        "which tokens are padding: those beyond the length (default), or "
        "any with the padding id",
        advanced()},
       {"--mask-kind", &flags.mask_kind,
        choice({"none", "padding", "causal", "padding+causal"}),
        "the mask to apply (default none)"},
       {"--decode", &flags.decode, flag(),
        "show the step that decodes the last token of one sequence "
        "(--sequence): its key and value are appended to a cache of the "
        "tokens before"}});
}

void add_layer_options(const Arguments& layer, ExplainFlags& flags) {
  layer.add({{"--vocab-size", &flags.vocab_size, count(),
              "rows of the embedding (default 100)", advanced()},
             {"--embed-dim", &flags.embed_dim, count(),
              "size of a token's vector (default 512)"},
             {"--num-heads", &flags.num_heads, count(),
              "number of heads (default 8, or as in --params)"},
             {"--num-kv-heads", &flags.num_kv_heads, count(),
              "number of key/value heads (default: --num-heads)", advanced()},
             {"--seed", &flags.seed, number(),
              "seed of the random parameters (default 0)", advanced()},
             {"--params", &flags.params, input_file("DIR|FILE"),
              "read the parameters from a folder of .npy files, a .npz or a "
              ".safetensors: w_q.weight, w_q.bias, the same for w_k, w_v and "
              "w_o, w_score.weight for additive scoring, q_norm.weight and "
              "k_norm.weight for --qk-norm, and embedding.weight"}});
  add_layer_choice(layer, flags.layer, "--params or --model");
}

void add_output_options(const Arguments& output, ExplainFlags& flags) {
  output.add({{"--shapes-only", &flags.shapes_only, flag(),
               "print all shapes, without computing"},
              {"--step", &flags.step, text("NAME"),
               "print one whole step or parameter (w_q.weight)"},
              {"--json", &flags.json, printed(), "print JSON"},
              {"--out", &flags.out, output_file("FILE.npy"),
               "write the output, or the tensor of --step"},
              {"--picture", &flags.picture, picture("FILE.svg|FILE.png"),
               "draw every head of one sequence as a heat map"},
              {"--sequence", &flags.sequence, number("B"),
               "sequence of --picture and --decode (default 0)"}});
}

void add_options(const Arguments& command, ExplainFlags& flags) {
  command.keep_line(flags.line);
  command.add({{"SENTENCE", &flags.sentence, any_text(""),
                "the sentence for --model"}});
  add_input_options(command.under("Input"), flags);
  add_layer_options(command.under("Layer"), flags);
  add_output_options(command.under("Output"), flags);
  add_operation_options(command, flags.operation);
  add_qk_norm_options(command, flags.qk_norm);
  add_rotary_options(command, flags.rotary);
  command.under("Scores").add(added_key_options(flags.operation));
}

}  // namespace

void add_explain(const Arguments& app, Command& chosen) {
  const std::string table = examples_table();
  CommandHelp help = kHelp;
  help.footer = table;
  add_command(app, chosen, help, add_options, run_explain);
}

}  // namespace headwise::cli
