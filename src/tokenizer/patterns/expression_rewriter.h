// An expression of the reference, made ready for this machine's Oniguruma. Its
// classes are spelled out range by range: the library's own tables are of
// another version of Unicode than the reference's. Loops that could run for
// ever unnoticed count their turns, by failing once in each.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// `expression` is valid, except that the library may not know its properties.
// Errors: what is wrong with it, as the end of a sentence about the expression.
Result<std::string> rewrite_expression(std::string_view expression);

// `[\x{41}-\x{5a}...]`: the characters of a property, or all others; empty if
// no property has this name. It may be in another bracket.
std::string class_expression(std::string_view property, bool negated,
                             bool in_bracket);

// \b and \B.
std::string word_boundary(bool negated);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
