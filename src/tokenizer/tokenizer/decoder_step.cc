#include "tokenizer/decoder_step.h"

#include <utility>

namespace headwise::inline HEADWISE_ABI::tokenizer {

Status WholeTokenStep::apply(std::vector<std::string>& tokens, Next& next) {
  if (is_open_ && tokens.empty() && next == Next::nothing) {
    tokens.emplace_back();
  }
  if (is_open_ && !tokens.empty()) {
    pieces_ += tokens.front();
    tokens.front() = std::exchange(pieces_, {});
    is_open_ = false;
  }
  if (next == Next::rest_of_token) {
    if (!tokens.empty()) {
      pieces_ = std::move(tokens.back());
      tokens.pop_back();
      is_open_ = true;
    }
    next = Next::token;
  }
  return change(tokens, next);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
