// What is written into an SVG file: words of anybody's, and numbers.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Text that cannot leave its place in the file nor spoil it: markup is escaped,
// control characters become spaces and what is no UTF-8 becomes U+FFFD.
std::string svg_text(std::string_view text);

// As short as six digits allow: "0.25", "1200", "1e-09".
std::string svg_number(double number);

// How wide a line of text is, in characters of Latin: those beyond ASCII are
// counted as two.
double text_columns(std::string_view text);

// The beginning of a longer text, with "…" for the rest.
std::string cut_text(std::string_view text, double columns);

}  // namespace headwise::inline HEADWISE_ABI
