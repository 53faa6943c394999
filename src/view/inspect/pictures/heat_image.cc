#include "inspect/pictures/heat_image.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "headwise/base/checked_product.h"
#include "inspect/pictures/base64.h"
#include "inspect/pictures/heat_colour.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kRampShades = kMaskedShade;
constexpr std::size_t kShades = 256;
constexpr std::size_t kChannels = 4;  // red, green, blue, opacity
constexpr std::size_t kMostPixels = std::size_t{1} << 28;

Rgb colour_of(std::size_t shade) {
  switch (shade) {
    case kMaskedShade:
      return kMaskedColour;
    case kClearShade:
      return {255, 255, 255};
    case kNoNumberShade:
      return kNoNumberColour;
    default:
      return heat_colour(static_cast<double>(shade) / (kRampShades - 1));
  }
}

// Only the colours that an image uses: all 256 would make up most of a
// thumbnail's file.
struct Palette {
  std::array<png_byte, kShades> places{};  // of each shade that is used
  std::vector<std::uint8_t> rgba;          // one colour after another
};

Palette palette_of(const HeatImage& image) {
  std::array<bool, kShades> there{};
  for (const Shade shade : image.shades) {
    there[shade] = true;
  }
  Palette palette;
  for (std::size_t shade = 0; shade < kShades; ++shade) {
    if (there[shade]) {
      palette.places[shade] =
          static_cast<png_byte>(palette.rgba.size() / kChannels);
      const Rgb colour = colour_of(shade);
      palette.rgba.insert(palette.rgba.end(), colour.begin(), colour.end());
      palette.rgba.push_back(shade == kClearShade ? 0 : 255);
    }
  }
  return palette;
}

// The palette index of every pixel.
std::vector<png_byte> magnified(const HeatImage& image, const CellPixels& cell,
                                const Palette& palette) {
  std::vector<png_byte> pixels;
  pixels.reserve(image.shades.size() * cell.width * cell.height);
  for (std::size_t i = 0; i < image.rows * cell.height; ++i) {
    const std::size_t row = i / cell.height * image.columns;
    for (std::size_t j = 0; j < image.columns; ++j) {
      pixels.insert(pixels.end(), cell.width,
                    palette.places[image.shades[row + j]]);
    }
  }
  return pixels;
}

Error png_error(std::string_view operation, const HeatImage& image,
                const Message& reason) {
  return {ErrorCode::unsupported,
          ErrorDetails{
              .operation = std::string(operation),
              .argument = "image",
              .given = message("of {} x {} cells cannot be written as PNG: {}",
                               image.rows, image.columns, reason)}};
}

}  // namespace

Shade heat_shade(double share) {
  return static_cast<Shade>(
      std::lround(std::clamp(share, 0.0, 1.0) * (kRampShades - 1)));
}

CellPixels cell_pixels(const HeatImage& image, double width, double height,
                       double zoom) {
  constexpr double kEnough = 1 << 26;
  const double wanted = width * zoom * static_cast<double>(image.columns) *
                        height * zoom * static_cast<double>(image.rows);
  const double fit = zoom * std::min(1.0, std::sqrt(kEnough / wanted));
  const auto side = [&](double cell) {
    return static_cast<std::size_t>(std::max(std::round(cell * fit), 1.0));
  };
  return {side(width), side(height)};
}

Result<std::string> heat_image_uri(std::string_view operation,
                                   const HeatImage& image,
                                   const CellPixels& cell) {
  assert(image.shades.size() == image.rows * image.columns);
  const auto pixels =
      checked_product({{image.rows, cell.height, image.columns, cell.width}});
  if (!pixels || *pixels > kMostPixels) {  // libpng counts them in 32 bits
    return png_error(operation, image, "too many pixels");
  }
  const Palette palette = palette_of(image);
  const std::vector<png_byte> places = magnified(image, cell, palette);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.columns * cell.width);
  header.height = static_cast<png_uint_32>(image.rows * cell.height);
  header.format = PNG_FORMAT_RGBA_COLORMAP;
  header.colormap_entries =
      static_cast<png_uint_32>(palette.rgba.size() / kChannels);
  // An upper bound, so that the image is compressed only once.
  std::vector<std::byte> file(PNG_IMAGE_PNG_SIZE_MAX(header));
  png_alloc_size_t size = file.size();
  if (png_image_write_to_memory(&header, file.data(), &size, 0, places.data(),
                                0, palette.rgba.data()) == 0) {
    return png_error(operation, image, header.message);
  }
  file.resize(size);
  return "data:image/png;base64," + base64(file);
}

}  // namespace headwise::inline HEADWISE_ABI
