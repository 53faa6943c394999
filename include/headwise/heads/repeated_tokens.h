// Texts of random tokens that are repeated once. Only the first half predicts
// the second, so heads that copy from it stand out.
//
//   [CLS] r1 r2 .. rn r1 r2 .. rn [SEP]
//
// The n tokens of a text are drawn without replacement from the tokens of the
// vocabulary that begin a word: no special tokens, nothing in brackets such as
// [unused7], no continuations such as ##ing. In front and behind come the
// tokens that the model adds to any text.
//
// Source: Olsson et al. 2022, arXiv:2209.11895, "Key concepts".
//
// Example:
//   RaggedTokens texts =
//       repeated_random_tokens(model, {.seed = Seed{7}}).value();
#pragma once

#include <cstddef>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct RepeatedTokens {
  std::size_t texts = 50;
  // n; fewer if the model has too few positions or tokens.
  std::size_t length = 25;
  Seed seed{};
};

// Texts depend on the model and `wanted` alone, not on the machine. Errors:
// unsupported for a model that has fewer than 2 such tokens, or positions for
// fewer than 2 of them twice; out_of_memory.
Result<RaggedTokens> repeated_random_tokens(const TextModel& model,
                                            const RepeatedTokens& wanted);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
