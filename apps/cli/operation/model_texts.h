// The lines of --texts as a model reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "token_limit.h"

namespace headwise::cli {

// Numbers for every head and text are kept until the last one is known.
inline constexpr std::size_t kMostTexts = 10000;

struct ModelTexts {
  RaggedTokens ids{};
  std::size_t tokens = 0;
  std::size_t cut = 0;  // texts of which tokens were cut off
  TokenLimit limit{};
};

// `path` may be "-". Errors: those of the file; bad_data for a line that is not
// UTF-8 and for more than kMostTexts; those of token_limit().
Result<ModelTexts> read_model_texts(const std::string& path,
                                    std::optional<std::size_t> max_tokens,
                                    const std::string& folder,
                                    const TextModel& model);

}  // namespace headwise::cli
