#include "attribution_flags.h"

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

}  // namespace

std::span<const std::string_view> attribution_columns() { return kColumns; }

void add_attribution_options(const Arguments& command,
                             AttributionFlags& flags) {
  const Arguments attribution = command.under("Attribution");
  attribution.add({{"--attribution", &flags.name,
                    choice({"norms", "gradient", "integrated",
                            "integrated-by-layer", "rollout", "flow"},
                           "NAME"),
                    "also print a measure of heads or tokens: norms, gradient, "
                    "integrated, integrated-by-layer, rollout or flow"}});
  add_target_options(attribution, flags);
}

void add_target_options(const Arguments& attribution, AttributionFlags& flags) {
  attribution.add(
      {{"--target", &flags.target, text("LABEL|TOKEN"),
        "take gradients of the logit of this label, or of this next token in a "
        "language model (default: the predicted one)"},
       {"--output-token", &flags.output_token, number(),
        "position of the token that rollout and flow go back from (default: 0; "
        "in a language model the last), or after which a language model "
        "predicts "
        "the token of --target (default: the last)"}});
}

Status check_attribution_flags(const ViewedFlags& seen) {
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"--target", needs,
       "--attribution gradient|--attribution integrated|"
       "--attribution integrated-by-layer",
       "--attribution gradient, integrated or integrated-by-layer"},
      {"--output-token", needs,
       "--attribution gradient|--attribution integrated|"
       "--attribution integrated-by-layer|--attribution rollout|"
       "--attribution flow",
       "an --attribution other than norms"},
      {"--sort norm", needs, "--attribution norms", "--attribution norms"},
      {"--sort gradient", needs, "--attribution gradient",
       "--attribution gradient"},
      {"--sort integrated", needs, "--attribution integrated",
       "--attribution integrated"},
      {"--sort integrated-by-layer", needs, "--attribution integrated-by-layer",
       "--attribution integrated-by-layer"},
      {"--attribution", needs, "--model", "--model and a single text"},
      {"--attribution", never, "--corpus",
       "--attribution needs --model and a single text"},
      {"--attribution rollout|--attribution flow", never, "--layers",
       "this --attribution goes through all layers: leave out --layers"},
      {"--attribution rollout|--attribution flow", never, "--sort",
       "this --attribution lists tokens: leave out --sort"}};
  return seen.line.check(kRules);
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
