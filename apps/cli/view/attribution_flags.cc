#include "attribution_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operation/option_errors.h"
#include "shell/args.h"

namespace headwise::cli {

bool of_gradients(const std::string& name) {
  return name == "gradient" || name == "integrated" ||
         name == "integrated-by-layer";
}
bool through_layers(const std::string& name) {
  return name == "rollout" || name == "flow";
}

namespace {

constexpr std::array<std::string_view, 4> kColumns = {
    "norm", "gradient", "integrated", "integrated-by-layer"};

// "norms" for "norm": the other columns have the name of their attribution.
std::string attribution_with(const std::string& column) {
  return column == "norm" ? "norms" : column;
}

}  // namespace

std::span<const std::string_view> attribution_columns() { return kColumns; }

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
  add_target_options(attribution, flags);
}

void add_target_options(const Arguments& attribution, AttributionFlags& flags) {
  attribution.add_text(
      "--target", flags.target, "LABEL|TOKEN",
      "take gradients of the logit of this label, or of this next token in a "
      "causal model (default: the predicted one)");
  attribution.add_number(
      "--output-token", flags.output_token,
      "position of the token that rollout and flow go back from (default: 0; "
      "in a causal model the last), or after which a causal model predicts the "
      "token of --target (default: the last)");
}

Outcome check_attribution_flags(const ViewedFlags& seen, bool several_texts,
                                const std::string& sort,
                                const AttributionFlags& flags) {
  if (!flags.target.empty() && !of_gradients(flags.name)) {
    return usage(
        "--target needs --attribution gradient, integrated or "
        "integrated-by-layer");
  }
  if (flags.output_token && !through_layers(flags.name) &&
      !of_gradients(flags.name)) {
    return usage("--output-token needs an --attribution other than norms");
  }
  if (std::ranges::find(kColumns, sort) != kColumns.end() &&
      flags.name != attribution_with(sort)) {
    return usage(message("--sort {} needs --attribution {}", sort,
                         attribution_with(sort)));
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

Result<std::size_t> output_token(const AttributionFlags& flags,
                                 const ViewedText& text) {
  const std::size_t tokens = text.query_labels.size();
  const std::size_t token =
      flags.output_token.value_or(text.causal ? tokens - 1 : 0);
  if (token >= tokens) {
    return bad_option("--output-token", std::to_string(token),
                      message("less than {}", tokens));
  }
  return token;
}

}  // namespace headwise::cli
