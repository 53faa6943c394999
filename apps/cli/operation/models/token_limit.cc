#include "token_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "operation/option_errors.h"
#include "shell/say.h"

namespace headwise::cli {

Result<TokenLimit> token_limit(std::optional<std::size_t> wanted,
                               const std::string& model,
                               const ModelSettings& settings) {
  return token_limit(wanted, model,
                     TextModelShape{.max_tokens = settings.max_tokens,
                                    .max_tokens_key = settings.max_tokens_key,
                                    .max_positions = settings.most_tokens(),
                                    .added_tokens = 2});
}

Result<TokenLimit> token_limit(std::optional<std::size_t> wanted,
                               const std::string& model,
                               const TextModelShape& shape) {
  const std::size_t fewest = std::max<std::size_t>(shape.added_tokens, 1);
  TokenLimit limit = {
      .tokens = wanted.value_or(shape.max_tokens),
      .from = wanted ? "--max-tokens"
                     : say("{} of {}", shape.max_tokens_key, model),
      .most = shape.max_positions};
  if (limit.tokens < fewest || limit.tokens > limit.most) {
    return bad_option(
        "--max-tokens", std::to_string(limit.tokens),
        message("{} to {}, the positions of {}", fewest, limit.most, model));
  }
  return limit;
}

}  // namespace headwise::cli
