#include "token_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "operation/option_errors.h"
#include "shell/say.h"

namespace headwise::cli {

Result<TokenLimit> token_limit(const ViewedFlags& flags,
                               const ModelSettings& settings) {
  return token_limit(flags, {.max_tokens = settings.max_tokens,
                             .max_tokens_key = settings.max_tokens_key,
                             .max_positions = settings.config.max_positions,
                             .added_tokens = 2});
}

Result<TokenLimit> token_limit(const ViewedFlags& flags,
                               const TextModelShape& shape) {
  const std::size_t fewest = std::max<std::size_t>(shape.added_tokens, 1);
  TokenLimit limit = {.tokens = flags.max_tokens.value_or(shape.max_tokens),
                      .from = flags.max_tokens
                                  ? "--max-tokens"
                                  : say({"{} of {}", "{1}의 {0}"},
                                        shape.max_tokens_key, flags.model),
                      .most = shape.max_positions};
  if (limit.tokens < fewest || limit.tokens > limit.most) {
    return bad_option("--max-tokens", std::to_string(limit.tokens),
                      fmt::format("{} to {}, the positions of {}", fewest,
                                  limit.most, flags.model));
  }
  return limit;
}

}  // namespace headwise::cli
