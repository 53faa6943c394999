#include "step_words.h"

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

bool is_identity(const ExplainedJob& job, const TracedStep& step) {
  return step.name == "output" && !job.out_proj;
}

}  // namespace

std::string operation_of(const ExplainedJob& job, const TracedStep& step,
                         Language language) {
  return std::string(is_identity(job, step)
                         ? text_of(Word::no_out_proj, language)
                         : find_step(step.name)->operation(language));
}

std::string formula_of(const ExplainedJob& job, const TracedStep& step) {
  if (is_identity(job, step)) {
    return "output = merged";
  }
  std::string formula(find_step(step.name)->formula);
  if (!job.biased.contains(step.name)) {
    replace_all(formula, " + w_" + step.name + ".bias", "");
    if (step.name == "output") {
      replace_all(formula, " + w_o.bias", "");
    }
  }
  if (job.from_tokens) {
    replace_all(formula, "query @", "embedded @");
    replace_all(formula, "key @", job.cross ? "embedded_kv @" : "embedded @");
    replace_all(formula, "value @", job.cross ? "embedded_kv @" : "embedded @");
  }
  if (step.name == "attn_weights" && job.find("masked_scores") != nullptr) {
    replace_all(formula, "softmax(scores", "softmax(masked_scores");
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
