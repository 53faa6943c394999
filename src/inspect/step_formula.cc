#include "inspect/step_formula.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

namespace headwise::inline HEADWISE_ABI {
namespace {

using Steps = std::span<const TracedStep>;

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool has(Steps steps, std::string_view name) {
  return std::ranges::find(steps, name, &TracedStep::name) != steps.end();
}

// The first of these steps that the pass has; `otherwise` if it has none.
std::string_view first_of(Steps steps,
                          std::initializer_list<std::string_view> names,
                          std::string_view otherwise) {
  const auto* found = std::ranges::find_if(
      names, [&](std::string_view name) { return has(steps, name); });
  return found == names.end() ? otherwise : *found;
}

// What is projected to queries, keys and values.
void name_inputs(Steps steps, std::string& formula) {
  const std::string_view queries =
      first_of(steps, {"query", "hidden", "embedded"}, "query");
  replace_all(formula, "query @", std::string(queries) + " @");
  for (const std::string_view side : {"key", "value"}) {
    const std::string_view from =
        first_of(steps, {side, "hidden", "embedded_kv", "embedded"}, side);
    replace_all(formula, std::string(side) + " @", std::string(from) + " @");
  }
}

// The last step before this one that gives scores of some kind; empty where
// they are no input of it.
std::string_view scores_before(Steps steps, std::string_view step) {
  constexpr std::array<std::string_view, 6> kOrder = {
      "scores",       "capped_scores", "biased_scores",
      "alibi_scores", "masked_scores", "attn_weights"};
  auto at = std::ranges::find(kOrder, step);
  if (at == kOrder.begin() || at == kOrder.end()) {
    return {};
  }
  do {
    --at;
  } while (at != kOrder.begin() && !has(steps, *at));
  return *at;
}

// The mask that the scores are masked by: that of all masks, or the only one.
std::string_view mask_of(Steps steps) {
  constexpr std::string_view kAll = "mask";
  const auto only = std::ranges::find_if(steps, [](const TracedStep& step) {
    return step.name.ends_with("_mask");
  });
  return has(steps, kAll) || only == steps.end() ? kAll
                                                 : std::string_view(only->name);
}

}  // namespace

std::string step_formula(const StepInfo& step, Steps steps, std::size_t group,
                         Language language) {
  std::string formula(step.formula_in(language));
  name_inputs(steps, formula);
  if (step.name == "masked_scores") {
    replace_all(formula, " mask ", " " + std::string(mask_of(steps)) + " ");
  }
  if (const std::string_view scores = scores_before(steps, step.name);
      !scores.empty()) {
    replace_all(formula, " scores", " " + std::string(scores));
    replace_all(formula, "(scores", "(" + std::string(scores));
  }
  if (group != 1 && (step.name == "scores" || step.name == "context")) {
    replace_all(formula, "_heads[b,h,j",
                "_heads[b,floor(h/" + std::to_string(group) + "),j");
  }
  if (step.name == "context" && has(steps, "dropped_weights")) {
    replace_all(formula, "attn_weights", "dropped_weights");
  }
  return formula;
}

}  // namespace headwise::inline HEADWISE_ABI
