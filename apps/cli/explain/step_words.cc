#include "step_words.h"

namespace headwise::cli {
namespace {

StepContext context_of(const ExplainedJob& job, Language language) {
  const auto biased = [&](const char* step) {
    return job.biased.contains(step);
  };
  StepContext context{.steps = job.steps,
                      .batched = job.batched,
                      .additive = job.additive,
                      .group = job.group(),
                      .q_bias = biased("q"),
                      .k_bias = biased("k"),
                      .v_bias = biased("v"),
                      .output_bias = biased("output"),
                      .value_proj = job.value_proj,
                      .out_proj = job.out_proj,
                      .qk_norm = job.qk_norm.value_or(QkNorm{}),
                      .language = language};
  if (job.sentence) {
    context.hidden = job.sentence->hidden;
  }
  return context;
}

}  // namespace

std::string operation_of(const ExplainedJob& job, const TracedStep& step,
                         Language language) {
  return std::string(step_operation(step.name, context_of(job, language)));
}

std::string formula_of(const ExplainedJob& job, const TracedStep& step,
                       Language language) {
  return step_formula(step.name, context_of(job, language));
}

}  // namespace headwise::cli
