// An SVG picture as a PNG file, by librsvg.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// `zoom` pixels of the file stand for one of the picture; the ground is white.
// The picture names its own size, in pixels.
//
// Errors: invalid_argument when zoom is no number above 0; bad_data when `svg`
// is no SVG or has no size; out_of_range for a file of more than 32767 pixels a
// side, cairo's limit, or 2^28 in all; unsupported where librsvg is not
// installed; out_of_memory, also where librsvg cannot start a thread. It draws
// in a process of its own, which it ends then.
Result<std::vector<std::byte>> svg_to_png(std::string_view svg, double zoom);

}  // namespace headwise::cli
