#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "operation/comma_parts.h"
#include "operation/option_errors.h"
#include "page_attribution.h"
#include "shell/args.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

constexpr std::array<std::string_view, 5> kNames = {
    "gradient", "integrated", "integrated-by-layer", "rollout", "flow"};

Status check_names(const PageAttributionFlags& flags) {
  const auto names = flags.names();
  if (std::ranges::find(names, "norms") != names.end()) {
    return usage_error(
        "--attribution norms is for stats: every page of a model has norms");
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::ranges::find(kNames, *name) == kNames.end()) {
      return bad_option("--attribution", flags.list,
                        "one or more of gradient, integrated, "
                        "integrated-by-layer, rollout and flow, separated by "
                        "commas");
    }
    if (std::find(names.begin(), name, *name) != name) {
      return option_error("--attribution", message("has {} twice", *name),
                          "each name once");
    }
  }
  return ok();
}

}  // namespace

std::vector<std::string> PageAttributionFlags::names() const {
  if (!given()) {
    return {};
  }
  const auto names = comma_parts(list);
  return {names.begin(), names.end()};
}

bool PageAttributionFlags::has(std::string_view name) const {
  const auto all = names();
  return std::ranges::find(all, name) != all.end();
}

std::string PageAttributionFlags::of_gradients() const {
  const auto all = names();
  const auto found = std::ranges::find_if(all, cli::of_gradients);
  return found == all.end() ? "" : *found;
}

void add_page_attribution_options(const Arguments& command,
                                  PageAttributionFlags& flags) {
  const Arguments attribution = command.under("Attribution");
  attribution.add(
      {{"--attribution", &flags.list, text("NAMES"),
        "also show these on the page: gradient, integrated, "
        "integrated-by-layer, rollout, flow, such as gradient,rollout"}});
  add_target_options(attribution, flags.common);
}

Outcome check_page_attribution(const ViewedFlags& seen, bool page,
                               const PageAttributionFlags& flags) {
  HEADWISE_TRY(check_names(flags));
  if (!flags.common.target.empty() && flags.of_gradients().empty()) {
    return usage(
        "--target needs --attribution gradient, integrated or "
        "integrated-by-layer");
  }
  const bool through = std::ranges::any_of(flags.names(), through_layers);
  if (flags.common.output_token && !flags.given()) {
    return usage("--output-token needs --attribution NAMES");
  }
  if (!flags.given()) {
    return {};
  }
  if (seen.model.empty() || !seen.texts.empty()) {
    return usage("--attribution needs --model and a single text");
  }
  if (!seen.ablate.empty()) {
    return usage("--ablate and --attribution cannot be used together");
  }
  if (!page) {
    return usage("--attribution needs --out PAGE.html or --open");
  }
  if (through && !seen.layers.empty()) {
    return usage(
        "this --attribution goes through all layers: leave out --layers");
  }
  return {};
}

}  // namespace headwise::cli
