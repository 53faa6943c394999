#include "inspect/pictures/heat_colour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace headwise::inline HEADWISE_ABI {
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

double weight_share(double weight, double end) {
  return end > 0 ? std::sqrt(std::max(weight, 0.0) / end) : 0;
}

Rgb ink_on(Rgb ground) {
  // Relative luminance, WCAG 2.1.
  const auto light = [](std::uint8_t channel) {
    const double share = channel / 255.0;
    return share <= 0.04045 ? share / 12.92
                            : std::pow((share + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * light(ground[0]) +
                           0.7152 * light(ground[1]) +
                           0.0722 * light(ground[2]);
  constexpr double kAlike = 0.1791287847;  // sqrt(1.05 * 0.05) - 0.05
  return luminance > kAlike ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string colour_text(Rgb colour) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour[0], colour[1],
                colour[2]);
  return text.data();
}

}  // namespace headwise::inline HEADWISE_ABI
