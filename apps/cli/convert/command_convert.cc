// headwise convert
// Writes the attention layers of a file in the layout of another library, or
// one of them as an ONNX model.

#include <string>
#include <vector>

#include "convert_errors.h"
#include "headwise/interop/convert_params.h"
#include "onnx_export.h"
#include "operation/layer_choice.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kConvertHelp = {
    .name = "convert",
    .description =
        "convert attention layers to another library's layout or to ONNX",
    .examples =
        R"(  headwise convert model.safetensors out.safetensors --to distilbert
  headwise convert model/ layer.npz --to keras --layer 5 --num-heads 12 \
      --attention-only
  headwise convert model/ layer5.onnx --to onnx --layer 5 --mask bool)",
    .footer =
        R"(Elements keep their type and are moved, never computed: converting back is
bit-identical. Tensors outside attention layers are copied unchanged, and so is
the metadata from .safetensors to .safetensors. With --layer, other layers are
left out. OUT is replaced as a whole or not at all.

--to onnx writes one layer as a model of opset 23. Inputs: query (B, L, E); also
key and value with --cross-attention or if their sizes differ. Output: output.)"};

struct ConvertFlags {
  CommandLine line;
  std::string in;
  std::string out;
  ConvertOptions options;
  OnnxExportFlags onnx;
};

bool to_npz(const ConvertFlags& flags) { return flags.out.ends_with(".npz"); }

using enum OptionRule::Kind;

// An ONNX model holds one layer and nothing else, without a prefix or a number.
constexpr OptionRule kRules[] = {
    {"--to-prefix|--as-layer|--attention-only", excludes, "--to onnx"},
    {"--cross-attention|--causal|--mask|--scale|--softcap|--rotary-positions|"
     "--rotary-base|--rotary-dim|--rotary-layout|--rotary-scaling|"
     "--rotary-tables|--qk-norm|--qk-norm-over|--qk-norm-eps|"
     "--qk-norm-plus-one",
     needs, "--to onnx"}};

// "out.npz: layers 0-5, bert to keras; 55 other tensors copied unchanged"
std::string convert_summary(const ConvertFlags& flags,
                            const ConvertedParams& converted) {
  const std::size_t others = converted.other_names.size();
  std::string text = say(
      "{}: layer{} {}, {} to {}; {} other tensor{} {}", flags.out,
      converted.layers.size() == 1 ? "" : "s", ranges_text(converted.layers),
      converted.from.layout->name, flags.options.to, others,
      others == 1 ? "" : "s",
      flags.options.attention_only ? say("left out") : say("copied unchanged"));
  if (const std::size_t left =
          converted.from.layers.size() - converted.layers.size();
      left > 0) {
    text += say("; {} other layer{} left out", left, left == 1 ? "" : "s");
  }
  if (to_npz(flags) && !converted.metadata.empty()) {
    text += say("; metadata left out, .npz has none");
  }
  return one_line(text) + "\n";
}

Outcome run_convert(const ConvertFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kRules));
  // IN may be OUT: it is read into memory first.
  const FilePlan files = flags.line.files();
  if (flags.options.to == kToOnnx) {
    return export_onnx({flags.in, flags.out, flags.options}, flags.onnx, files,
                       streams);
  }
  if (!to_npz(flags) && !flags.out.ends_with(".safetensors")) {
    return usage("OUT", message("is {}", flags.out),
                 "a name that ends in .safetensors or .npz");
  }
  HEADWISE_TRY(files.check());
  const auto converted = convert_params(flags.in, flags.options);
  if (!converted) {
    return in_convert_words(converted.error());
  }
  if (const Status s = write_params(flags.out, *converted); !s) {
    // The disk's fault or the memory's, else that of the tensors.
    return s.error().code() == ErrorCode::io_error ||
                   s.error().code() == ErrorCode::out_of_memory
               ? failure_to_write(s.error())
               : failure_of(s.error());
  }
  return files.print_summary(streams, convert_summary(flags, *converted));
}

void add_files(const Arguments& command, ConvertFlags& flags) {
  command.add({{"IN", &flags.in, text(""),
                "a .safetensors, .safetensors.index.json or .npz file, or a "
                "folder with a model or with NAME.npy files",
                required()},
               {"OUT", &flags.out, output_file(""),
                "output file, .safetensors, .npz or .onnx", required()}});
}

void add_layout_options(const Arguments& layout, ConvertFlags& flags) {
  std::vector<std::string> targets = layout_names();
  targets.emplace_back(kToOnnx);
  layout.add(
      {{"--to", &flags.options.to, choice(targets, "NAME"),
        "layout of OUT: " + layout_list() + ", or onnx", required()},
       {"--to-prefix", &flags.options.prefix, any_text("TEXT"),
        "prefix of the names in OUT, one of those the layout knows, such as "
        "bert. or \"\" (default: as in IN)",
        advanced()},
       {"--layout-of", &flags.options.from, choice(layout_names(), "NAME"),
        "layout of IN (default: detected)", advanced()},
       {"--prefix", &flags.options.from_prefix, any_text("TEXT"),
        "prefix of the names in IN, or its beginning (default: detected)",
        advanced()},
       {"--num-heads", &flags.options.num_heads, count(),
        "number of query heads, if OUT needs it and neither IN nor its "
        "config.json has it"},
       // Scripts call it by this name, and no option of convert lists heads.
       {"--heads", &flags.options.num_heads, count(), "same as --num-heads",
        advanced()}});
}

void add_choice_options(const Arguments& choice, ConvertFlags& flags) {
  choice.add({{"--layer", &flags.options.layer, number(),
               "only this layer (default: all)"},
              {"--as-layer", &flags.options.as_layer, number(),
               "number of that layer in OUT (default: as in IN)", advanced()},
              {"--attention-only", &flags.options.attention_only, flag(),
               "leave out tensors outside attention layers"}});
}

void add_convert_options(const Arguments& command, ConvertFlags& flags) {
  command.keep_line(flags.line);
  add_files(command, flags);
  add_layout_options(command.under("Layout"), flags);
  add_choice_options(command.under("Selection"), flags);
  add_onnx_options(command, flags.onnx);
}

}  // namespace

void add_convert(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kConvertHelp, add_convert_options, run_convert);
}

}  // namespace headwise::cli
