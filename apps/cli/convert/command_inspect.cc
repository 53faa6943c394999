// headwise inspect
// What is in a file of parameters: its tensors, its attention layers and whose
// layout they have. Of an ONNX model: where it computes attention.

#include <optional>
#include <string>
#include <utility>

#include "headwise/interop/param_inspection.h"
#include "headwise/onnx/model.h"
#include "inspect_text.h"
#include "operation/layer_choice.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"
#include "shell/output.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kInspectHelp = {
    .name = "inspect",
    .description =
        "list the tensors, attention layers and heads of "
        "a file",
    .examples =
        R"(  headwise inspect model.safetensors
  headwise inspect model/ --tensors
  headwise inspect layer.npz --layout-of keras --json
  headwise inspect model.onnx)",
    .footer =
        R"(For an ONNX model, lists the attention nodes: the pattern that matched, and the
heads, sizes and scale found in the file. ? marks a size that depends on
the inputs.)"};

struct InspectFlags {
  std::string path;
  std::string layout_of;
  std::optional<std::string> prefix;
  bool tensors = false;
  bool json = false;
};

Outcome inspect_onnx(const InspectFlags& flags, const Streams& streams) {
  if (!flags.layout_of.empty() || flags.prefix || flags.tensors) {
    return usage(
        "--layout-of, --prefix and --tensors cannot be used with an ONNX "
        "model");
  }
  const auto model = OnnxModel::read(flags.path);
  if (!model) {
    return error_of_option("inspect", model.error());
  }
  HEADWISE_ASSIGN(const auto nodes, model->attention_nodes());
  HEADWISE_ASSIGN(const auto not_run, model->operators_not_run());
  return print(streams.out,
               flags.json ? inspect_onnx_json(flags.path, nodes, not_run)
                          : inspect_onnx_text(flags.path, nodes, not_run));
}

// The library's readers of parameters expect no model, and name themselves.
Error in_inspect_words(const Error& error) {
  const Error named = error_of_option("inspect", error);
  ErrorDetails said = named.details();
  if (said.given != "is not a parameter file") {
    return named;
  }
  said.expected =
      "a .safetensors, .safetensors.index.json, .npz, .npy or .onnx file, or a "
      "folder of parameter files";
  return {error.code(), std::move(said)};
}

Outcome run_inspect(const InspectFlags& flags, const Streams& streams) {
  if (flags.path.ends_with(".onnx") || flags.path.ends_with(".ONNX")) {
    return inspect_onnx(flags, streams);
  }
  const auto inspection =
      inspect_params(flags.path, flags.layout_of, flags.prefix);
  if (!inspection) {
    return in_inspect_words(inspection.error());
  }
  return print(streams.out, flags.json
                                ? inspect_json(*inspection)
                                : inspect_text(*inspection, flags.tensors));
}

void add_inspect_options(const Arguments& command, InspectFlags& flags) {
  command.add(
      {{"FILE", &flags.path, text(""),
        "a .safetensors, .safetensors.index.json, .npz, .npy or .onnx file, or "
        "a folder with a model or with NAME.npy files",
        required()},
       {"--layout-of", &flags.layout_of, choice(layout_names(), "NAME"),
        "expected layout of FILE; if it does not fit, the output says why: " +
            layout_list() + " (default: detected)"},
       {"--prefix", &flags.prefix, any_text("TEXT"),
        "prefix of the names in FILE, or its beginning (default: detected)"},
       {"--tensors", &flags.tensors, flag(),
        "list every tensor, including those of numbered layers"},
       {"--json", &flags.json, flag(), "print JSON"}});
}

}  // namespace

void add_inspect(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kInspectHelp, add_inspect_options, run_inspect);
}

}  // namespace headwise::cli
