// `explain --model` without headwise::models.
#include "explain/models/explain_model.h"
#include "shell/outcome.h"

namespace headwise::cli {

Result<ExplainedJob> run_model_job(const ExplainFlags& /*flags*/) {
  return usage_error("--model is not in this build: it needs headwise::models");
}

}  // namespace headwise::cli
