#include "step_words.h"

#include <fmt/format.h>

#include "inspect/step_formula.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
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

// The bias of a projection is left out of the formula where there is none.
void leave_out_bias(const ExplainedJob& job, const TracedStep& step,
                    std::string& formula) {
  if (!job.biased.contains(step.name)) {
    const std::string letter = step.name == "output" ? "o" : step.name;
    replace_all(formula, " + w_" + letter + ".bias", "");
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
  std::string formula =
      step_formula(info_of(job, step), job.steps, job.group(), language);
  leave_out_bias(job, step, formula);
  if (!job.batched) {
    replace_all(formula, "[b,", "[");
  }
  return formula;
}

}  // namespace headwise::cli
