// Heads that are changed while tokens are generated.
#pragma once

#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/generate/text_generator.h"
#include "headwise/run/executor.h"
#include "headwise/transformer/model_pass.h"

namespace headwise::cli {

// At the tokens of the prompt, each of these heads gives what it gives at those
// of another one. Errors: of `option`, for a head that the model lacks; those
// of Transformer::hidden().
Result<ModelHooks> patched_heads(const TextGenerator& model,
                                 std::string_view option,
                                 const std::vector<AttentionPlace>& heads,
                                 const std::vector<TokenId>& other,
                                 const Executor& executor);

}  // namespace headwise::cli
