#include "step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "words.h"

namespace headwise::cli {
namespace {

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The last step before this one that gives scores of some kind; empty where
// they are no input of it.
std::string_view scores_before(const ExplainedJob& job,
                               const TracedStep& step) {
  constexpr std::array<std::string_view, 6> kOrder = {
      "scores",       "capped_scores", "biased_scores",
      "alibi_scores", "masked_scores", "attn_weights"};
  auto at = std::ranges::find(kOrder, step.name);
  if (at == kOrder.begin() || at == kOrder.end()) {
    return {};
  }
  do {
    --at;
  } while (at != kOrder.begin() && job.find(*at) == nullptr);
  return *at;
}

// The step's words, by what the job compares queries and keys with.
const StepInfo& info_of(const ExplainedJob& job, const TracedStep& step) {
  return job.additive && step.name == "scores" ? additive_scores_step()
                                               : *find_step(step.name);
}

// Where the hidden states come from.
std::string hidden_formula(const ExplainedSentence& sentence) {
  return sentence.layer != 0
             ? fmt::format("hidden = what layer {} gave", sentence.layer - 1)
             : fmt::format(
                   "hidden[b,t,:] = LayerNorm(word[id[b,t],:] + position[t,:]"
                   "{})",
                   sentence.token_types ? " + token_type[0,:]" : "");
}

}  // namespace

std::string operation_of(const ExplainedJob& job, const TracedStep& step,
                         Language language) {
  if (step.name == "output" && !job.out_proj) {
    return std::string(text_of(Word::no_out_proj, language));
  }
  if (step.name == "v" && !job.value_proj) {
    return std::string(text_of(Word::no_value_proj, language));
  }
  return std::string(info_of(job, step).operation(language));
}

std::string formula_of(const ExplainedJob& job, const TracedStep& step) {
  if (step.name == "output" && !job.out_proj) {
    return "output = merged";
  }
  if (step.name == "v" && !job.value_proj) {
    return !job.from_tokens ? "v = value"
           : job.cross      ? "v = embedded_kv"
                            : "v = embedded";
  }
  if (step.name == "hidden") {
    return hidden_formula(*job.sentence);
  }
  std::string formula(info_of(job, step).formula);
  if (!job.biased.contains(step.name)) {
    replace_all(formula, " + w_" + step.name + ".bias", "");
    if (step.name == "output") {
      replace_all(formula, " + w_o.bias", "");
    }
  }
  if (job.sentence) {
    for (const std::string_view side : {"query @", "key @", "value @"}) {
      replace_all(formula, side, "hidden @");
    }
  } else if (job.from_tokens) {
    replace_all(formula, "query @", "embedded @");
    replace_all(formula, "key @", job.cross ? "embedded_kv @" : "embedded @");
    replace_all(formula, "value @", job.cross ? "embedded_kv @" : "embedded @");
  }
  if (const std::string_view scores = scores_before(job, step);
      !scores.empty()) {
    replace_all(formula, " scores", " " + std::string(scores));
    replace_all(formula, "(scores", "(" + std::string(scores));
  }
  if (job.group() != 1 && (step.name == "scores" || step.name == "context")) {
    const std::string head = fmt::format("_heads[b,floor(h/{}),j", job.group());
    replace_all(formula, "_heads[b,h,j", head);
  }
  if (step.name == "context" && job.find("dropped_weights") != nullptr) {
    replace_all(formula, "attn_weights", "dropped_weights");
  }
  if (!job.batched) {
    replace_all(formula, "[b,", "[");
  }
  return formula;
}

}  // namespace headwise::cli
