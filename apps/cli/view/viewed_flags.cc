#include "viewed_flags.h"

#include "operation/planned_inputs.h"
#include "shell/args.h"

namespace headwise::cli {

void add_viewed_options(const Arguments& command, ViewedFlags& flags) {
  const auto add = [&](const std::string& name, auto& value,
                       const std::string& type, const char* group,
                       const std::string& text) {
    return command.add_option(name, value, text)
        .type_name(type)
        .check(not_empty())
        .group(group);
  };
  add("--model", flags.model, "DIR", "A model and a text",
      "a BERT-family model folder: config.json, vocab.txt, model.safetensors");
  command
      .add_option("TEXT", flags.text, "what the model reads; -: standard input")
      .type_name("TEXT|-");
  add("--layers", flags.layers, "LIST", "A model and a text",
      "only these layers, such as 0,2-4 (default: all)");
  command
      .add_option("--max-tokens", flags.max_tokens,
                  "maximum tokens; longer texts are cut (default: the limit "
                  "set in the model folder; at most: the model's positions)")
      .type_name("N")
      .transform(natural_number())
      .group("A model and a text");
  constexpr const char* kTensors = "Tensors";
  add("--query", flags.query, "F.npy", kTensors,
      "(B, Hq, Lq, D), or (Hq, Lq, D), or for several layers (N, B, Hq, Lq, "
      "D)");
  add("--key", flags.key, "F.npy", kTensors, "(B, Hkv, Lkv, D), like --query");
  add_layout_option(command, flags.layout);
  add("--separators", flags.separators, "F.npy", kTensors,
      "(B, Lkv): true or 1 = a separator, such as [SEP]")
      .advanced();
  add("--query-lengths", flags.query_lengths, "F.npy", kTensors,
      "(B): number of queries; the rest is padding and is left out")
      .advanced();
  add("--score-weight", flags.operation.score_weight, "F.npy", kTensors,
      "(H, D): w of --scoring additive; D is the size of the hidden layer")
      .advanced();
  add_ragged_options(command, flags.operation);
  add_weight_options(command, flags.operation);
}

void plan_inputs(FilePlan& plan, const ViewedFlags& flags) {
  plan.input("--model", flags.model);
  if (flags.text == "-") {
    plan.input("TEXT", *flags.text);
  }
  plan.input("--query", flags.query);
  plan.input("--key", flags.key);
  plan.input("--query-tokens", flags.query_tokens);
  plan.input("--key-tokens", flags.key_tokens);
  plan.input("--separators", flags.separators);
  plan.input("--query-lengths", flags.query_lengths);
  plan_inputs(plan, flags.operation);
}

}  // namespace headwise::cli
