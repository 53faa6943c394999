// Classes of characters spelled for Oniguruma, range by range: the library's
// own tables are of another version of Unicode than the reference's.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// A class in brackets, `[\x{41}-\x{5a}...]`, of a property's characters or of
// all others; empty if no property has this name. It may be in another bracket.
std::string class_expression(std::string_view property, bool negated,
                             bool in_bracket);

// \b and \B.
std::string word_boundary_expression(bool negated);

// Matches no character.
inline constexpr std::string_view kNothing = "[^\\x{0}-\\x{10ffff}]";

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
