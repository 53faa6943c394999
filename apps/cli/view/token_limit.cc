#include "token_limit.h"

#include <fmt/format.h>

#include "operation/option_errors.h"
#include "shell/say.h"

namespace headwise::cli {

Result<TokenLimit> token_limit(const ViewedFlags& flags,
                               const ModelSettings& settings) {
  constexpr std::size_t kFewest = 2;  // [CLS] and [SEP]
  TokenLimit limit = {.tokens = flags.max_tokens.value_or(settings.max_tokens),
                      .from = flags.max_tokens
                                  ? "--max-tokens"
                                  : say({"{} of {}", "{1}의 {0}"},
                                        settings.max_tokens_key, flags.model),
                      .most = settings.config.max_positions};
  if (limit.tokens < kFewest || limit.tokens > limit.most) {
    return bad_option("--max-tokens", std::to_string(limit.tokens),
                      fmt::format("{} to {}, the positions of {}", kFewest,
                                  limit.most, flags.model));
  }
  return limit;
}

}  // namespace headwise::cli
