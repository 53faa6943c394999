// Phrases with values: "at most {}" is the form of "at most 7". The Korean of a
// phrase says where its values go:
//
//   {0}       the first value; {0:은/는} with the particle that fits it
//   {*0}      the same, which is a phrase itself, or several with "; " between
//   {s}       what the phrase is about, at the beginning only. It is left out,
//             with what follows it up to a space, where that is not known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::cli {

// The values in `text`, if it has this form. A value has a character at least.
std::optional<std::vector<std::string_view>> values_in(std::string_view text,
                                                       std::string_view form);

// The Korean of the phrase (headwise/words/translation.h) whose form `text` has, that of
// the most words where there are several; nothing if there is none.
std::optional<std::string> korean_phrase(std::string_view text,
                                         std::string_view subject = {});

// The parts of the text between separators, in Korean where they have any.
std::string korean_parts(std::string_view text, std::string_view separator);

}  // namespace headwise::cli
