#include "step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "say.h"

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
std::string hidden_formula(const ExplainedSentence& sentence,
                           Language language) {
  return sentence.layer != 0
             ? say(language,
                   {"hidden = output of layer {}", "hidden = 레이어 {}의 출력"},
                   sentence.layer - 1)
             : fmt::format(
                   "hidden[b,t,:] = LayerNorm(word[id[b,t],:] + position[t,:]"
                   "{})",
                   sentence.token_types ? " + token_type[0,:]" : "");
}

// The mask that the scores are masked by: that of all masks, or the only one.
std::string_view mask_of(const ExplainedJob& job) {
  constexpr std::string_view kAll = "mask";
  if (job.find(kAll) != nullptr) {
    return kAll;
  }
  const auto only = std::ranges::find_if(
      job.steps, [](const auto& step) { return step.name.ends_with("_mask"); });
  if (only == job.steps.end()) {
    return kAll;
  }
  return only->name;
}

// The bias of a projection is left out of the formula where there is none.
void leave_out_bias(const ExplainedJob& job, const TracedStep& step,
                    std::string& formula) {
  if (!job.biased.contains(step.name)) {
    const std::string letter = step.name == "output" ? "o" : step.name;
    replace_all(formula, " + w_" + letter + ".bias", "");
  }
}

// The inputs of the projections as they are called in the steps before.
void name_inputs(const ExplainedJob& job, std::string& formula) {
  const std::string_view queries = job.sentence      ? "hidden @"
                                   : job.from_tokens ? "embedded @"
                                                     : "query @";
  const std::string_view keys =
      job.from_tokens && job.cross ? "embedded_kv @" : queries;
  replace_all(formula, "query @", queries);
  if (job.sentence || job.from_tokens) {
    replace_all(formula, "key @", keys);
    replace_all(formula, "value @", keys);
  }
}

}  // namespace

std::string operation_of(const ExplainedJob& job, const TracedStep& step,
                         Language language) {
  if (step.name == "output" && !job.out_proj) {
    return say(language,
               {"no output projection: the merged heads are the output",
                "출력 투영이 없습니다: 이어 붙인 헤드가 그대로 출력입니다"});
  }
  if (step.name == "v" && !job.value_proj) {
    return say(language, {"no value projection: the values as they are",
                          "밸류 투영이 없습니다: 밸류를 그대로 씁니다"});
  }
  return std::string(info_of(job, step).operation(language));
}

std::string formula_of(const ExplainedJob& job, const TracedStep& step,
                       Language language) {
  if (step.name == "output" && !job.out_proj) {
    return "output = merged";
  }
  if (step.name == "v" && !job.value_proj) {
    return !job.from_tokens ? "v = value"
           : job.cross      ? "v = embedded_kv"
                            : "v = embedded";
  }
  if (step.name == "hidden") {
    return hidden_formula(*job.sentence, language);
  }
  std::string formula(info_of(job, step).formula_in(language));
  leave_out_bias(job, step, formula);
  name_inputs(job, formula);
  if (step.name == "masked_scores") {
    replace_all(formula, " mask ", fmt::format(" {} ", mask_of(job)));
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
