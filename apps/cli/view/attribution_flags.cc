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
                  "also print a measure of heads or tokens: norms, gradient, "
                  "integrated, integrated-by-layer, rollout or flow")
      .type_name("NAME");
  attribution.add_text("--target", flags.target, "LABEL",
                       "take gradients of this label's logit (default: the "
                       "predicted label)");
  attribution.add_number("--output-token", flags.output_token,
                         "position of the token that rollout and flow go back "
                         "from (default: 0; in a causal model the last)");
}

Outcome check_attribution_flags(const ViewedFlags& seen, bool several_texts,
                                const std::string& sort,
                                const AttributionFlags& flags) {
  if (!flags.target.empty() && !of_gradients(flags.name)) {
    return usage(
        "--target needs --attribution gradient, integrated or "
        "integrated-by-layer");
  }
  if (flags.output_token && !through_layers(flags.name)) {
    return usage("--output-token needs --attribution rollout or flow");
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
