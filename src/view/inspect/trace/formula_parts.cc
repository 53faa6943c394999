#include "inspect/trace/formula_parts.h"

#include <algorithm>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

bool FormulaParts::has(std::string_view step) const {
  return std::ranges::find(pass_.steps, step, &TracedStep::name) !=
         pass_.steps.end();
}

std::string_view FormulaParts::first_of(
    std::initializer_list<std::string_view> steps,
    std::string_view otherwise) const {
  const auto* found = std::ranges::find_if(
      steps, [this](std::string_view step) { return has(step); });
  return found == steps.end() ? otherwise : *found;
}

std::string FormulaParts::at(std::string_view tensor,
                             std::string_view indices) const {
  return std::string(tensor) + (pass_.batched ? "[b," : "[") +
         std::string(indices) + "]";
}

std::string FormulaParts::of_batch(std::string_view formula) const {
  constexpr std::string_view kBatched = "[b,";
  std::string text(formula);
  for (std::size_t at = text.find(kBatched);
       !pass_.batched && at != std::string::npos; at = text.find(kBatched)) {
    text.replace(at, kBatched.size(), "[");
  }
  return text;
}

std::string FormulaParts::at_kv_head(std::string_view tensor,
                                     std::string_view feature) const {
  const std::string head =
      pass_.group == 1 ? "h" : "floor(h/" + std::to_string(pass_.group) + ")";
  return at(tensor, head + ",j," + std::string(feature));
}

std::string FormulaParts::projected(std::string_view input,
                                    std::string_view letter, bool bias) const {
  const std::string w = "w_" + std::string(letter);
  return std::string(input) + " @ " + w + ".weight^T" +
         (bias ? " + " + w + ".bias" : "");
}

std::string FormulaParts::hidden() const {
  if (!pass_.hidden) {
    return "hidden = " + say("input of this layer");
  }
  const HiddenStates& from = *pass_.hidden;
  const std::string_view norm =
      from.norm == NormKind::rms ? "RMSNorm" : "LayerNorm";
  const auto normed = [&](bool has_norm, const std::string& x) {
    return has_norm ? std::string(norm) + "(" + x + ")" : x;
  };
  if (from.layer != 0) {
    return "hidden = " +
           normed(from.attention_norm,
                  say("output of layer {0}", std::to_string(from.layer - 1)));
  }
  constexpr int kDigits = 6;
  std::string x = from.scale == 1 ? "" : number_text(from.scale, kDigits) + " ";
  x += "word[" + at("id", "t") + ",:]";
  x += from.positions ? " + position[t,:]" : "";
  x += from.token_types ? " + token_type[0,:]" : "";
  x = normed(from.embedding_norm, x);
  x = from.projected ? "project(" + x + ")" : x;
  return at("hidden", "t,:") + " = " + normed(from.attention_norm, x);
}

std::string FormulaParts::added(std::string_view learned) const {
  const auto all = std::ranges::find(pass_.steps, "k_added", &TracedStep::name);
  const bool both = all != pass_.steps.end() &&
                    std::ranges::find(all->axes, "Lkv+2") != all->axes.end();
  const std::string given = ", " + std::string(learned) + "[h,:]";
  return !has(learned) ? ", 0" : both ? given + ", 0" : given;
}

std::string_view FormulaParts::scores_before(std::string_view step) const {
  std::string_view last = "scores";
  for (const TracedStep& earlier : pass_.steps) {
    if (earlier.name == step) {
      break;
    }
    if (earlier.name.ends_with("scores")) {
      last = earlier.name;
    }
  }
  return last;
}

std::string_view FormulaParts::mask() const {
  constexpr std::string_view kAll = "mask";
  const auto only = std::ranges::find_if(
      pass_.steps,
      [](const TracedStep& step) { return step.name.ends_with("_mask"); });
  return has(kAll) || only == pass_.steps.end() ? kAll
                                                : std::string_view(only->name);
}

}  // namespace headwise::inline HEADWISE_ABI
