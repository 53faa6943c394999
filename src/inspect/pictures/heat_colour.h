// The colours of every heat map: dark blue is nothing, yellow the most.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

using Rgb = std::array<std::uint8_t, 3>;

// A perceptually even ramp (seven stops of viridis). `share` is of the largest
// value; below 0 and above 1 it is taken for these. Not for NaN.
Rgb heat_colour(double share);

// The place on the ramp of an attention weight: the square root of its share of
// `end`, where the colours end, for most attention weights are small. 0 where
// `end` is 0. The viewer's page has the same ramp and the same root.
double weight_share(double weight, double end);

// What is not on the ramp: pairs that may not attend, and NaN where a number
// should be.
inline constexpr Rgb kMaskedColour = {236, 236, 236};
inline constexpr Rgb kNoNumberColour = {255, 0, 255};

// Black or white, whichever is easier to read on the colour: their contrast, as
// WCAG counts it, is at least 4.5.
Rgb ink_on(Rgb ground);

// "#440154"
std::string colour_text(Rgb colour);

}  // namespace headwise::inline HEADWISE_ABI
