// Step 1: a ragged batch of token ids, as given by the user: B sequences, each
// with its own length. Empty sequences and an empty batch are allowed.
//
// Example:
//   RaggedTokens tokens = {{62, 13, 47}, {60}};
//   Status s = check_tokens(tokens, 100);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

using TokenId = std::int64_t;
using RaggedTokens = std::vector<std::vector<TokenId>>;

// The length of the longest sequence; 0 for an empty batch.
inline std::size_t max_sequence_length(const RaggedTokens& tokens) {
  std::size_t longest = 0;
  for (const auto& sequence : tokens) {
    longest = std::max(longest, sequence.size());
  }
  return longest;
}

// Errors: out_of_range for an id outside [0, vocab_size); the message names the
// sequence b and the position t.
Status check_tokens(const RaggedTokens& tokens, std::size_t vocab_size);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
