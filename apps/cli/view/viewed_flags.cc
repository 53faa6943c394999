#include "viewed_flags.h"

#include "operation/number_type.h"
#include "shell/args.h"
#include "shell/onnx_data.h"

namespace headwise::cli {
namespace {

void add_sentence_options(const Arguments& sentence, ViewedFlags& flags) {
  sentence.add(
      {{"--model", &flags.model, input_file("DIR|FILE"),
        "a model folder (config.json, tokenizer.json or vocab.txt, "
        "model.safetensors), or a GGUF file"},
       {"TEXT",
        &flags.text,
        {.type = "TEXT|-", .use = FileUse::input_if_dash},
        "what the model reads; -: standard input"},
       {"--pair",
        &flags.pair,
        {.type = "A B", .check = not_empty(), .values = 2},
        "in place of TEXT, two sentences that the model reads as a pair: token "
        "type 0 and 1"},
       {"--decoder-text", &flags.decoder_text, text("TEXT"),
        "of an encoder-decoder, the text that its decoder predicts",
        advanced()},
       {"--part", &flags.part, choice({"encoder", "decoder", "cross"}),
        "only the heads of the encoder, of the decoder, or those from the "
        "decoder to the encoder",
        advanced()},
       {"--layers", &flags.layers, text("LIST"),
        "only these layers, such as 0,2-4 (default: all)"},
       {"--max-tokens", &flags.max_tokens, number(),
        "maximum tokens per text; longer texts are cut (default: the limit set "
        "in the model folder; at most: the model's positions)"}});
}

void add_onnx_options(const Arguments& onnx, ViewedFlags& flags) {
  onnx.add({{"--onnx", &flags.onnx, input_file("MODEL.onnx"),
             "ONNX model; each attention node is shown as a layer"},
            {"--data", &flags.data, input_file("DIR"),
             "folder with the inputs, or a .npz file"},
            {"--node", &flags.node, text("NAME|N"),
             "only this node, by its name or its number (default: all)"},
            memory_limit_option(flags.memory_limit)});
}

void add_tensor_options(const Arguments& tensors, ViewedFlags& flags) {
  tensors.add(
      {{"--query", &flags.query, npy(),
        "(B, Hq, Lq, D), or (Hq, Lq, D), or for several layers (N, B, Hq, Lq, "
        "D)"},
       {"--key", &flags.key, npy(), "(B, Hkv, Lkv, D), like --query"},
       layout_option(flags.layout),
       dtype_option(flags.dtype),
       {"--separators", &flags.separators, npy(),
        "(B, Lkv): true or 1 = a separator, such as [SEP]", advanced()},
       {"--query-lengths", &flags.query_lengths, npy(),
        "(B): number of queries; the rest is padding and is left out",
        advanced()},
       {"--cross", &flags.cross, flag(),
        "the keys belong to another sequence; their positions are not compared",
        advanced()},
       score_weight_option(flags.operation)});
  tensors.add(ragged_options(flags.operation));
}

void add_weights_option(const Arguments& weights, ViewedFlags& flags) {
  weights.add({{"--attn-weights", &flags.attn_weights, input_file("FILE"),
                "computed by any program: .npy (B, H, Lq, Lkv), (H, Lq, Lkv) "
                "or (N, B, H, Lq, Lkv); .npz or .safetensors with an entry per "
                "layer, its number in the name"}});
}

}  // namespace

void add_viewed_options(const Arguments& command, ViewedFlags& flags) {
  command.keep_line(flags.line);
  add_sentence_options(command.under("A model and a text"), flags);
  add_onnx_options(command.under("An ONNX model and its inputs"), flags);
  add_weights_option(command.under("Attention weights"), flags);
  add_tensor_options(command.under("Tensors"), flags);
  add_weight_options(command, flags.operation);
  add_rotary_options(command, flags.rotary);
}

std::string_view ViewedFlags::relating_option() const {
  return line.first_of("--causal|--window|--query-start|--t5-bias|--alibi");
}

void add_against_options(const Arguments& command, ViewedFlags& flags) {
  const Arguments two = command.under("Two models");
  two.add({{"--against", &flags.against, input_file("DIR"),
            "compare --model with this model"},
           {"--matched", &flags.matched, flag(),
            "pair heads one to one by the similarity of their maps (default: "
            "by layer and number)"}});
}

}  // namespace headwise::cli
