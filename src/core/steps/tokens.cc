#include "headwise/steps/tokens.h"

#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "steps/check_token.h"
namespace headwise::inline HEADWISE_ABI {

Status check_token(TokenId id, std::size_t b, std::size_t t,
                   std::size_t vocab_size) try {
  if (id >= 0 && static_cast<std::uint64_t>(id) < vocab_size) {
    return ok();
  }
  return value_error(
      "", "tokens[" + std::to_string(b) + "][" + std::to_string(t) + "]",
      std::to_string(id),
      vocab_size == 0 ? "no token, as vocab_size is 0"
                      : message("0 to vocab_size - 1 = {}", vocab_size - 1),
      ErrorCode::out_of_range);
} catch (...) {
  return caught_out_of_memory();
}

Status check_tokens(const RaggedTokens& tokens, std::size_t vocab_size) try {
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    for (std::size_t t = 0; t < tokens[b].size(); ++t) {
      HEADWISE_TRY(check_token(tokens[b][t], b, t, vocab_size));
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
