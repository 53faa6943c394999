// Which tokens of a corrupted text a token of the clean text corresponds to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/steps/tokens.h"

namespace headwise::inline HEADWISE_ABI {

// Tokens [begin, end) of the corrupted text; may be none.
struct Partners {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// For each token of the clean text: the token in its place if there are as many
// tokens; otherwise as patching.h says.
std::vector<Partners> partners_of(std::span<const TokenId> clean,
                                  std::span<const TokenId> corrupted);

}  // namespace headwise::inline HEADWISE_ABI
