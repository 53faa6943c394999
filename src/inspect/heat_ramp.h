// The ramp of heat_colour(), as pictures show it in their legends.
#pragma once

#include "inspect/svg_writer.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr double kRampPart = 4;  // pixels of one of its colours
inline constexpr double kRampHeight = 14;

// From (x, y) rightwards, `parts` * kRampPart pixels.
void draw_heat_ramp(SvgWriter& svg, double x, double y, int parts);

}  // namespace headwise::inline HEADWISE_ABI
