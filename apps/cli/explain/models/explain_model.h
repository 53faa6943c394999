// The job of `explain --model`: one layer of a model, on the hidden states that
// a sentence has there.
#pragma once

#include "explain/explain_flags.h"
#include "explain/explain_job.h"
#include "headwise/base/result.h"

namespace headwise::cli {

// Errors: invalid_argument for --model without a sentence or a sentence without
// it, for options that are of other jobs, for a layer that the model does not
// have; those of SentenceEncoder::read() and Tokenizer::encode().
Result<ExplainedJob> run_model_job(const ExplainFlags& flags);

}  // namespace headwise::cli
