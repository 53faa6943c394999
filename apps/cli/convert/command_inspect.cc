// headwise inspect
// What is in a file of parameters: its tensors, its attention layers and whose
// layout they have.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "headwise/interop/param_inspection.h"
#include "inspect_text.h"
#include "operation/layer_choice.h"
#include "shell/add_command.h"
#include "shell/output.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "inspect",
    .description =
        "list the tensors, attention layers and heads of "
        "a parameter file",
    .examples =
        R"(  headwise inspect model.safetensors
  headwise inspect model/ --tensors
  headwise inspect layer.npz --layout-of keras --json)"};

struct InspectFlags {
  std::string path;
  std::string layout_of;
  bool tensors = false;
  bool json = false;
};

Outcome run_inspect(const InspectFlags& flags, const Streams& streams) {
  const auto inspection = inspect_params(flags.path, flags.layout_of);
  HEADWISE_TRY(inspection);
  return print(streams.out, flags.json
                                ? inspect_json(*inspection)
                                : inspect_text(*inspection, flags.tensors));
}

void add_options(const Arguments& command, InspectFlags& flags) {
  command
      .add_text("FILE", flags.path, "",
                "a .safetensors, .safetensors.index.json, .npz or .npy file, "
                "or a folder with a model or with NAME.npy files")
      .required();
  command
      .add_choice(
          "--layout-of", flags.layout_of, layout_names(),
          "expected layout of FILE; if it does not fit, the output says why: " +
              layout_list() + " (default: detected)")
      .type_name("NAME");
  command.add_flag("--tensors", flags.tensors,
                   "list every tensor, including those of numbered layers");
  command.add_flag("--json", flags.json, "print JSON");
}

}  // namespace

void add_inspect(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_inspect);
}

}  // namespace headwise::cli
