#include "inspect/pictures/heat_ramp.h"

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/svg_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array kTicks = {0.0, 0.1, 0.25, 0.5, 1.0};
constexpr std::array kTicksOfShares = {0.0, 0.1, 0.4, 1.0};

// With three digits.
std::string tick_text(double weight) {
  if (weight <= 0) {
    return "0";
  }
  const double unit = std::pow(10, std::floor(std::log10(weight)) - 2);
  return svg_number(std::round(weight / unit) * unit);
}

std::string_view anchor_at(double share) {
  return share == 0   ? ""
         : share == 1 ? R"(text-anchor="end")"
                      : R"(text-anchor="middle")";
}

}  // namespace

void draw_heat_ramp(SvgWriter& svg, double x, double y, int parts) {
  for (int part = 0; part < parts; ++part) {
    svg.rectangle({x + part * kRampPart, y, kRampPart + 0.5, kRampHeight},
                  colour_text(heat_colour(part / (parts - 1.0))));
  }
}

void draw_weight_ramp(SvgWriter& svg, double x, double y, double end) {
  draw_heat_ramp(svg, x, y, kWeightRampParts);
  const auto ticks = end == 1 ? std::span<const double>(kTicks)
                              : std::span<const double>(kTicksOfShares);
  for (const double share : ticks) {
    svg.text(x + weight_share(share, 1) * kWeightRampWidth,
             y + kRampHeight + 13, tick_text(share * end), anchor_at(share));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
