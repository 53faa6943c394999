// Errors: as in check_tokens(), for token t of sequence b.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

Status check_token(TokenId id, std::size_t b, std::size_t t,
                   std::size_t vocab_size);

}  // namespace headwise::inline HEADWISE_ABI
