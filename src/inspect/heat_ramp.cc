#include "inspect/heat_ramp.h"

#include "inspect/heat_colour.h"

namespace headwise::inline HEADWISE_ABI {

void draw_heat_ramp(SvgWriter& svg, double x, double y, int parts) {
  for (int part = 0; part < parts; ++part) {
    svg.rectangle({x + part * kRampPart, y, kRampPart + 0.5, kRampHeight},
                  colour_text(heat_colour(part / (parts - 1.0))));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
