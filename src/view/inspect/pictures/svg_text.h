// Text and numbers for an SVG file. The text may be from anyone.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Text that cannot break the file: markup is escaped, control characters become
// spaces, and bytes that are not UTF-8 become U+FFFD.
std::string svg_text(std::string_view text);

// With at most six digits: "0.25", "1200", "1e-09".
std::string svg_number(double number);

// The width of a line of text, in Latin characters: those beyond ASCII count as
// two.
double text_columns(std::string_view text);

// The text, cut to this width with "…" at the end if it is longer.
std::string cut_text(std::string_view text, double columns);

}  // namespace headwise::inline HEADWISE_ABI
