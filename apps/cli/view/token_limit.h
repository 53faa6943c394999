// How many tokens of a text a model reads.
#pragma once

#include <cstddef>
#include <string>

#include "headwise/base/result.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/text_model.h"
#include "viewed_flags.h"

namespace headwise::cli {

struct TokenLimit {
  std::size_t tokens = 0;
  std::string from;      // "--max-tokens", "max_seq_length of DIR"
  std::size_t most = 0;  // that --max-tokens can ask for
};

// Errors: invalid_argument for --max-tokens.
Result<TokenLimit> token_limit(const ViewedFlags& flags,
                               const ModelSettings& settings);
Result<TokenLimit> token_limit(const ViewedFlags& flags,
                               const TextModelShape& shape);

}  // namespace headwise::cli
