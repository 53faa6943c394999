// An expression of the reference, made ready for this machine's Oniguruma: its
// classes are spelled out (class_expression.h), and loops that could run for
// ever unnoticed count their turns.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct RewrittenExpression {
  std::string text{};
  // Accepted by Oniguruma exactly if the reference accepts the expression: only
  // the names of properties are other ones.
  std::string to_check{};
  bool counts_turns = false;
};

// What a backreference is preceded by: a callout (regular_expression.cc).
inline constexpr std::string_view kCountComparison = "(?{compare})";

// Errors: what is wrong with it, as the end of a sentence about the expression.
// An expression that Oniguruma does not accept may be rewritten to anything.
Result<RewrittenExpression> rewrite(std::string_view expression);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
