// The colours of all heat maps: from dark blue for zero to yellow for the
// largest value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

using Rgb = std::array<std::uint8_t, 3>;

// A perceptually uniform ramp (seven stops of viridis). `share` is the share of
// the largest value, clamped to 0 and 1. Not for NaN.
Rgb heat_colour(double share);

// The position of an attention weight on the ramp: the square root of its share
// of `end`, where the colours end, because most attention weights are small. 0
// if `end` is 0. The page has the same ramp and the same square root.
double weight_share(double weight, double end);

// Colours that are not on the ramp: for masked pairs, and for NaN instead of a
// number.
inline constexpr Rgb kMaskedColour = {236, 236, 236};
inline constexpr Rgb kNoNumberColour = {255, 0, 255};

// Black or white, whichever is easier to read on the colour. The contrast, as
// defined by WCAG, is at least 4.5.
Rgb ink_on(Rgb ground);

// "#440154"
std::string colour_text(Rgb colour);

}  // namespace headwise::inline HEADWISE_ABI
