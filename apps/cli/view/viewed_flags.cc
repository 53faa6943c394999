#include "viewed_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "operation/number_type.h"
#include "operation/planned_inputs.h"
#include "shell/args.h"
#include "shell/onnx_data.h"

namespace headwise::cli {
namespace {

void add_sentence_options(const Arguments& sentence, ViewedFlags& flags) {
  sentence.add_text(
      "--model", flags.model, "DIR",
      "a model folder, BERT-family or causal: config.json, vocab.txt, "
      "model.safetensors");
  sentence
      .add_option("TEXT", flags.text, "what the model reads; -: standard input")
      .type_name("TEXT|-");
  sentence
      .add_option("--pair", flags.pair,
                  "in place of TEXT, two sentences that the model reads as a "
                  "pair: token type 0 and 1")
      .type_name("A B")
      .values(2)
      .check(not_empty());
  sentence.add_text("--layers", flags.layers, "LIST",
                    "only these layers, such as 0,2-4 (default: all)");
  sentence.add_number(
      "--max-tokens", flags.max_tokens,
      "maximum tokens per text; longer texts are cut (default: the limit "
      "set in the model folder; at most: the model's positions)");
}

void add_onnx_options(const Arguments& onnx, ViewedFlags& flags) {
  onnx.add_text("--onnx", flags.onnx, "MODEL.onnx",
                "ONNX model; each attention node is shown as a layer");
  onnx.add_text("--data", flags.data, "DIR",
                "folder with the inputs, or a .npz file");
  onnx.add_text("--node", flags.node, "NAME|N",
                "only this node, by its name or its number (default: all)");
  add_memory_limit_option(onnx, flags.memory_limit);
}

void add_tensor_options(const Arguments& tensors, ViewedFlags& flags) {
  constexpr const char* kNpy = "F.npy";
  tensors.add_text("--query", flags.query, kNpy,
                   "(B, Hq, Lq, D), or (Hq, Lq, D), or for several layers (N, "
                   "B, Hq, Lq, D)");
  tensors.add_text("--key", flags.key, kNpy, "(B, Hkv, Lkv, D), like --query");
  add_layout_option(tensors, flags.layout);
  add_dtype_option(tensors, flags.dtype);
  tensors
      .add_text("--separators", flags.separators, kNpy,
                "(B, Lkv): true or 1 = a separator, such as [SEP]")
      .advanced();
  tensors
      .add_text("--query-lengths", flags.query_lengths, kNpy,
                "(B): number of queries; the rest is padding and is left out")
      .advanced();
  tensors
      .add_flag("--cross", flags.cross,
                "the keys belong to another sequence; their positions are not "
                "compared")
      .advanced();
  add_score_weight_option(tensors, flags.operation);
  add_ragged_options(tensors, flags.operation);
}

void add_weights_option(const Arguments& weights, ViewedFlags& flags) {
  weights.add_text("--attn-weights", flags.attn_weights, "FILE",
                   "computed by any program: .npy (B, H, Lq, Lkv), (H, Lq, "
                   "Lkv) or (N, B, H, Lq, Lkv); .npz or .safetensors with an "
                   "entry per layer, its number in the name");
}

}  // namespace

void add_viewed_options(const Arguments& command, ViewedFlags& flags) {
  add_sentence_options(command.under("A model and a text"), flags);
  add_onnx_options(command.under("An ONNX model and its inputs"), flags);
  add_weights_option(command.under("Attention weights"), flags);
  add_tensor_options(command.under("Tensors"), flags);
  add_weight_options(command, flags.operation);
  add_rotary_options(command, flags.rotary);
}

std::string ViewedFlags::relating_option() const {
  constexpr std::array<std::string_view, 5> kOptions = {
      "--causal", "--window", "--query-start", "--t5-bias", "--alibi"};
  const auto found = std::ranges::find_if(given, [&](const auto& option) {
    return std::ranges::find(kOptions, option) != kOptions.end();
  });
  return found == given.end() ? "" : *found;
}

void add_against_options(const Arguments& command, ViewedFlags& flags) {
  const Arguments two = command.under("Two models");
  two.add_text("--against", flags.against, "DIR",
               "compare --model with this model");
  two.add_flag("--matched", flags.matched,
               "pair heads one to one by the similarity of their maps "
               "(default: by layer and number)");
}

void plan_inputs(FilePlan& plan, const ViewedFlags& flags) {
  plan.input("--model", flags.model);
  plan.input("--against", flags.against);
  if (flags.text == "-") {
    plan.input("TEXT", *flags.text);
  }
  plan.input("--texts", flags.texts);
  plan.input("--onnx", flags.onnx);
  plan.input("--data", flags.data);
  plan.input("--query", flags.query);
  plan.input("--key", flags.key);
  plan.input("--attn-weights", flags.attn_weights);
  plan.input("--query-tokens", flags.query_tokens);
  plan.input("--key-tokens", flags.key_tokens);
  plan.input("--separators", flags.separators);
  plan.input("--query-lengths", flags.query_lengths);
  plan_inputs(plan, flags.operation);
  plan_inputs(plan, flags.rotary);
}

}  // namespace headwise::cli
