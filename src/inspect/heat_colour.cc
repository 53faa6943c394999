#include "inspect/heat_colour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace headwise {
namespace {

constexpr std::array<std::array<int, 3>, 7> kRamp = {{{68, 1, 84},
                                                      {68, 57, 131},
                                                      {49, 104, 142},
                                                      {33, 145, 140},
                                                      {53, 183, 121},
                                                      {144, 215, 67},
                                                      {253, 231, 37}}};

}  // namespace

Rgb heat_colour(double share) {
  const double x =
      std::clamp(share, 0.0, 1.0) * static_cast<double>(kRamp.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(x), kRamp.size() - 2);
  const double part = x - static_cast<double>(low);
  Rgb rgb{};
  for (std::size_t c = 0; c < rgb.size(); ++c) {
    rgb[c] = static_cast<std::uint8_t>(std::lround(
        kRamp[low][c] + part * (kRamp[low + 1][c] - kRamp[low][c])));
  }
  return rgb;
}

std::string colour_text(Rgb colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour[0], colour[1],
                colour[2]);
  return text.data();
}

}  // namespace headwise
