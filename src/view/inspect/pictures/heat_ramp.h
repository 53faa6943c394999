// Draws the ramp of heat_colour() in the legends of pictures.
#pragma once

#include "inspect/pictures/svg_writer.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr double kRampPart = 4;  // pixels per colour
inline constexpr double kRampHeight = 14;

// To the right from (x, y), `parts` * kRampPart pixels.
void draw_heat_ramp(SvgWriter& svg, double x, double y, int parts);

// The ramp of attention weights with numbers below it: the colours are those of
// weight_share() from 0 to `end`.
inline constexpr int kWeightRampParts = 50;
inline constexpr double kWeightRampWidth = kWeightRampParts * kRampPart;
void draw_weight_ramp(SvgWriter& svg, double x, double y, double end);

}  // namespace headwise::inline HEADWISE_ABI
