// What a PNG file shows, read by libpng.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headwise {

struct PngPixels {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::array<std::uint8_t, 4>> rgba;  // (rows, columns)

  std::array<std::uint8_t, 3> at(std::size_t i, std::size_t j) const {
    const auto& [red, green, blue, alpha] = rgba.at(i * columns + j);
    return {red, green, blue};
  }
  int opacity(std::size_t i, std::size_t j) const {
    return rgba.at(i * columns + j)[3];
  }
};

// No pixels, and a failure of the test, where it is no PNG file.
inline PngPixels png_pixels(std::span<const std::byte> file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) {
    ADD_FAILURE() << image.message;
    return {};
  }
  image.format = PNG_FORMAT_RGBA;
  PngPixels pixels{image.height, image.width, {}};
  pixels.rgba.resize(pixels.rows * pixels.columns);
  if (png_image_finish_read(&image, nullptr, pixels.rgba.data(), 0, nullptr) ==
      0) {
    ADD_FAILURE() << image.message;
    return {};
  }
  return pixels;
}

}  // namespace headwise
