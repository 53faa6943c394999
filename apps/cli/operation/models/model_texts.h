// The lines of --texts as a model reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "token_limit.h"
#include "unknown_tokens.h"

namespace headwise::cli {

struct ModelTexts {
  RaggedTokens ids{};
  UnknownTokens tokens{};
  std::size_t cut = 0;  // texts of which tokens were cut off
  std::size_t empty_lines = 0;
  TokenLimit limit{};
};

// Errors: those of read_text_file() and token_limit().
Result<ModelTexts> read_model_texts(const std::string& path,
                                    std::optional<std::size_t> max_tokens,
                                    const std::string& folder,
                                    const TextModel& model);

}  // namespace headwise::cli
