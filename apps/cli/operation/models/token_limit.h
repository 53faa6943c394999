// How many tokens of a text a model reads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/text_model.h"

namespace headwise::cli {

struct TokenLimit {
  std::size_t tokens = 0;
  std::string from;      // "--max-tokens", "max_seq_length of DIR"
  std::size_t most = 0;  // that --max-tokens can ask for
};

// `wanted` is --max-tokens, `model` the folder of --model. Errors:
// invalid_argument for --max-tokens.
Result<TokenLimit> token_limit(std::optional<std::size_t> wanted,
                               const std::string& model,
                               const TextModelShape& shape);
Result<TokenLimit> token_limit(std::optional<std::size_t> wanted,
                               const std::string& model,
                               const ModelSettings& settings);

}  // namespace headwise::cli
