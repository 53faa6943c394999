#include "picture_file.h"

#include "headwise/interop/atomic_file.h"
#include "svg_to_png.h"

namespace headwise::cli {

Outcome write_picture(const std::string& path, const Draw& draw, bool png) {
  if (path.empty()) {
    return {};
  }
  png = png || path.ends_with(".png");
  constexpr double kZoom = 2;  // of pixels: sharp on screens of today
  HEADWISE_ASSIGN(const auto svg, draw(png ? kZoom : 1));
  if (!png) {
    return written(write_file_atomically(path, svg));
  }
  HEADWISE_ASSIGN(const auto pixels, svg_to_png(svg, kZoom));
  return written(write_file_atomically(path, pixels));
}

}  // namespace headwise::cli
