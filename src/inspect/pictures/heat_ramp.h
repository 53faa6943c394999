// The ramp of heat_colour(), as pictures show it in their legends.
#pragma once

#include "inspect/pictures/svg_writer.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr double kRampPart = 4;  // pixels of one of its colours
inline constexpr double kRampHeight = 14;

// From (x, y) rightwards, `parts` * kRampPart pixels.
void draw_heat_ramp(SvgWriter& svg, double x, double y, int parts);

// The ramp of attention weights with numbers below it: colours go by
// weight_share() from 0 to `end`.
inline constexpr int kWeightRampParts = 50;
inline constexpr double kWeightRampWidth = kWeightRampParts * kRampPart;
void draw_weight_ramp(SvgWriter& svg, double x, double y, double end);

}  // namespace headwise::inline HEADWISE_ABI
