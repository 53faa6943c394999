// Step 2: ragged token ids to one rectangle, padded at the end:
//
//   ids[b,t] = tokens[b][t] where t < lengths[b], pad_id elsewhere
//
//   tokens        B sequences of ids         in
//   ids           (B, L)                     out, L the longest length
//   lengths       (B)                        out
//   padding_mask  (B, L)                     out, true = a token, not padding
//
// Example:
//   PaddedTokens padded = pad({{62, 13, 47}, {60}}).value();   // L = 3
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What counts as padding. The two differ when pad_id occurs inside a sequence.
enum class PaddingBy {
  length,  // positions after the end of the sequence
  id,      // every id equal to pad_id, as in masks made by `ids != pad_id`
};

struct PaddingOptions {
  TokenId pad_id = 0;
  PaddingBy padding_by = PaddingBy::length;
};

struct PaddedTokens {
  Tensor<TokenId, 2> ids;
  Tensor<std::int64_t, 1> lengths;
  Tensor<bool, 2> padding_mask;
};

// `progress` counts sequences. Errors: out_of_memory.
Result<PaddedTokens> pad(const RaggedTokens& tokens,
                         const PaddingOptions& options = {},
                         const Progress& progress = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
