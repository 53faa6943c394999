// The choice of the next token from its logits.
//
//   p = softmax(logits / temperature), of the top_k largest, of these the
//       largest whose sum reaches top_p
//
// With a temperature of 0 the token with the largest logit is chosen. Of equal
// logits the lower id goes first. A draw depends on the seed, the stream and
// the step alone, on every machine.
//
// Example:
//   TokenId id = next_token(logits.elements(), {.temperature = 0.8}).value();
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Sampling {
  double temperature = 0;
  std::size_t top_k = 0;  // 0: all
  double top_p = 1;
  Seed seed{};
};

// Which random number a draw takes.
struct DrawPlace {
  std::uint32_t stream = 0;  // of a sequence
  std::uint64_t step = 0;
};

// Errors: invalid_argument for a temperature that is negative or not finite,
// and a top_p that is not above 0 and at most 1.
Status check_sampling(std::string_view operation, const Sampling& sampling);

// Errors: those of check_sampling(); invalid_argument for no logits and for
// some that are not finite, save -inf; out_of_memory.
Result<TokenId> next_token(std::span<const float> logits,
                           const Sampling& sampling = {},
                           const DrawPlace& place = {});

// Of one token among all, in nats: logits[id] - ln sum exp logits.
double log_probability(std::span<const float> logits, TokenId id);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
