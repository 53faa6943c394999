// A heat map as an image, because a rectangle per cell would make files too
// large to open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// A colour's index in the palette of such images.
using Shade = std::uint8_t;

Shade heat_shade(double share);  // on the ramp of heat_colour(), in 253 steps
inline constexpr Shade kMaskedShade = 253;
inline constexpr Shade kClearShade = 254;  // transparent
inline constexpr Shade kNoNumberShade = 255;

struct HeatImage {
  std::size_t rows;
  std::size_t columns;
  std::vector<Shade> shades;  // (rows, columns)
};

// The pixels of a cell.
struct CellPixels {
  std::size_t width = 1;
  std::size_t height = 1;
};
// The pixels of a cell of `width` x `height` drawn at `zoom`: at least one, and
// fewer if the image would otherwise have more than 2^26.
CellPixels cell_pixels(const HeatImage& image, double width, double height,
                       double zoom);

// The image as a PNG file in a data URI. A cell has as many pixels as it is
// drawn with, because librsvg and others ignore image-rendering and would blur
// the cells. Errors of `operation`: unsupported with libpng's reason, usually
// for more than a million pixels per side. Throws std::bad_alloc.
Result<std::string> heat_image_uri(std::string_view operation,
                                   const HeatImage& image,
                                   const CellPixels& cell = {});

}  // namespace headwise::inline HEADWISE_ABI
