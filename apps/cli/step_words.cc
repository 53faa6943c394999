#include "step_words.h"

#include <fmt/format.h>

#include "inspect/step_formula.h"
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
  std::string formula =
      step_formula(info_of(job, step), job.steps, job.group());
  if (!job.biased.contains(step.name)) {
    replace_all(formula, " + w_" + step.name + ".bias", "");
    if (step.name == "output") {
      replace_all(formula, " + w_o.bias", "");
    }
  }
  if (!job.batched) {
    replace_all(formula, "[b,", "[");
  }
  return formula;
}

}  // namespace headwise::cli
