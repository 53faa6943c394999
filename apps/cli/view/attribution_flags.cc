#include "attribution_flags.h"

#include "shell/args.h"

namespace headwise::cli {
namespace {

bool of_gradients(const std::string& name) {
  return name == "gradient" || name == "integrated" ||
         name == "integrated-by-layer";
}
bool through_layers(const std::string& name) {
  return name == "rollout" || name == "flow";
}

}  // namespace

void add_attribution_options(const Arguments& command,
                             AttributionFlags& flags) {
  const Arguments attribution = command.under("Attribution");
  attribution
      .add_choice("--attribution", flags.name,
                  {"norms", "gradient", "integrated", "integrated-by-layer",
                   "rollout", "flow"},
                  "also how much heads and tokens matter by this measure")
      .type_name("NAME");
  attribution.add_text("--target", flags.target, "LABEL",
                       "the label whose logit gradients are of (default: the "
                       "predicted one)");
  attribution.add_number("--output-token", flags.output_token,
                         "position of the token that rollout and flow go back "
                         "from (default: 0; in a causal model the last)");
}

Outcome check_attribution_flags(const ViewedFlags& seen, bool several_texts,
                                const std::string& sort,
                                const AttributionFlags& flags) {
  if (!flags.target.empty() && !of_gradients(flags.name)) {
    return usage("--target needs an --attribution by gradients");
  }
  if (flags.output_token && !through_layers(flags.name)) {
    return usage("--output-token needs an --attribution through all layers");
  }
  if (!flags.given()) {
    return {};
  }
  if (seen.model.empty() || several_texts) {
    return usage("--attribution needs --model and a single text");
  }
  if (through_layers(flags.name) && !seen.layers.empty()) {
    return usage(
        "this --attribution goes through all layers: leave out --layers");
  }
  if (through_layers(flags.name) && !sort.empty()) {
    return usage("this --attribution lists tokens: leave out --sort");
  }
  return {};
}

}  // namespace headwise::cli
