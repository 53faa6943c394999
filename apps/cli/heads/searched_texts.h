// The texts that heads are searched on: the lines of a file, or random tokens.
#pragma once

#include <cstddef>
#include <string>

#include "heads_flags.h"
#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "operation/models/unknown_tokens.h"

namespace headwise::cli {

struct SearchedTexts {
  RaggedTokens ids{};
  std::size_t cut = 0;         // texts of which tokens were cut off
  std::size_t max_tokens = 0;  // of a text of a file
  std::size_t empty_lines = 0;
  UnknownTokens tokens{};  // of a file
};

// Errors: those of the file, with the name of the option and the line; of
// --max-tokens; of a model that cannot hold random tokens.
Result<SearchedTexts> read_searched_texts(const HeadsFlags& flags,
                                          const TextModel& model);

// "50 texts of 25 random tokens, each repeated (seed 0)"
std::string described(const HeadsFlags& flags, const SearchedTexts& texts);

}  // namespace headwise::cli
