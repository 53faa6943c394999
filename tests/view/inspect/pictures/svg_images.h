// The images within an SVG picture.
#pragma once

#include <gtest/gtest.h>
#include <nettle/base64.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/png_pixels.h"

namespace headwise {

inline PngPixels pixels_of_base64(std::string_view text) {
  std::vector<std::uint8_t> bytes(BASE64_DECODE_LENGTH(text.size()));
  base64_decode_ctx context{};
  base64_decode_init(&context);
  std::size_t size = bytes.size();
  if (base64_decode_update(&context, &size, bytes.data(), text.size(),
                           text.data()) == 0 ||
      base64_decode_final(&context) == 0) {
    ADD_FAILURE() << "no base64";
    return {};
  }
  return png_pixels(std::as_bytes(std::span(bytes)).first(size));
}

struct SvgImage {
  std::string attributes;
  std::string tip;  // as it stands in the file, escaped
  PngPixels pixels;
};

inline std::vector<SvgImage> svg_images(std::string_view svg) {
  constexpr std::string_view kStart = "<image ";
  constexpr std::string_view kData = " xlink:href=\"data:image/png;base64,";
  constexpr std::string_view kTip = "\"><title>";
  std::vector<SvgImage> images;
  for (std::size_t at = svg.find(kStart); at != std::string_view::npos;
       at = svg.find(kStart, at + 1)) {
    const std::size_t data = svg.find(kData, at);
    const std::size_t tip = svg.find(kTip, data);
    const std::size_t end = svg.find("</title></image>", tip);
    if (end == std::string_view::npos) {
      ADD_FAILURE() << "an image that is none";
      return images;
    }
    const std::size_t first = data + kData.size();
    const std::size_t words = tip + kTip.size();
    images.push_back({std::string(svg.substr(at, data - at)),
                      std::string(svg.substr(words, end - words)),
                      pixels_of_base64(svg.substr(first, tip - first))});
  }
  return images;
}

}  // namespace headwise
