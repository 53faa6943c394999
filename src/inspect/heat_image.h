// A heat map as an image: small where a rectangle for each cell would make a
// file that nobody can open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// A colour's place in the palette of such images.
using Shade = std::uint8_t;

Shade heat_shade(double share);  // the ramp of heat_colour(), in 253 steps
inline constexpr Shade kMaskedShade = 253;
inline constexpr Shade kClearShade = 254;  // what is beneath shows through
inline constexpr Shade kNoNumberShade = 255;

struct HeatImage {
  std::size_t rows;
  std::size_t columns;
  std::vector<Shade> shades;  // (rows, columns)
};

// The pixels that a cell is to have.
struct CellPixels {
  std::size_t width = 1;
  std::size_t height = 1;
};
// Those of a cell of `width` x `height` that is drawn at `zoom`: at least one,
// and fewer where the image would have more than 2^26 of them.
CellPixels cell_pixels(const HeatImage& image, double width, double height,
                       double zoom);

// The image as a PNG file in a data URI. That a cell has all the pixels it is
// drawn in costs next to nothing, and keeps it sharp: librsvg and others know
// no image-rendering and would let the cells run into one another.
// Errors: unsupported with libpng's reason, above all for more than a million
// pixels a side. Throws std::bad_alloc.
Result<std::string> heat_image_uri(const HeatImage& image,
                                   const CellPixels& cell = {});

}  // namespace headwise::inline HEADWISE_ABI
