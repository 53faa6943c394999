#include "svg_to_png.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>

#include "in_child.h"
#include "rsvg_library.h"

namespace headwise::cli {
namespace {

constexpr double kLongestSide = 32767;   // of a cairo surface
constexpr double kMostPixels = 1 << 28;  // 1 GiB while it is drawn

// An object of the C libraries that ends with the scope.
template <class T>
using Owned = std::unique_ptr<T, std::function<void(T*)>>;

Error bad_svg(const RsvgLibrary& rsvg, GError* error) {
  const Owned<GError> owned(error, rsvg.error_free);
  return {ErrorCode::bad_data,
          {.operation = "svg_to_png",
           .given = error != nullptr ? error->message : "this is no SVG"}};
}

Status status_of(const RsvgLibrary& rsvg, cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) {
    return ok();
  }
  return Error{status == CAIRO_STATUS_NO_MEMORY ? ErrorCode::out_of_memory
                                                : ErrorCode::unsupported,
               {.operation = "svg_to_png", .given = rsvg.status_text(status)}};
}

Result<Owned<RsvgHandle>> parse(const RsvgLibrary& rsvg, std::string_view svg) {
  if (svg.size() > std::size_t{std::numeric_limits<gssize>::max()}) {
    return bad_svg(rsvg, nullptr);
  }
  const Owned<GInputStream> stream(
      rsvg.memory_stream(svg.data(), static_cast<gssize>(svg.size()), nullptr),
      rsvg.unref);
  GError* error = nullptr;
  // Unlimited: an image within the picture may be longer than the ten million
  // characters that libxml2 grants an attribute.
  Owned<RsvgHandle> picture(
      rsvg.parse(stream.get(), nullptr, RSVG_HANDLE_FLAG_UNLIMITED, nullptr,
                 &error),
      rsvg.unref);
  if (picture == nullptr) {
    return bad_svg(rsvg, error);
  }
  return picture;
}

struct Size {
  double width;
  double height;
};

Result<Size> size_of(const RsvgLibrary& rsvg, RsvgHandle* picture,
                     double zoom) {
  Size size{};
  if (rsvg.size_in_pixels(picture, &size.width, &size.height) == FALSE) {
    return Error{ErrorCode::bad_data,
                 {.operation = "svg_to_png",
                  .given = "the picture has no width and height in pixels"}};
  }
  size.width = std::max(std::round(size.width * zoom), 1.0);
  size.height = std::max(std::round(size.height * zoom), 1.0);
  const bool too_long = std::max(size.width, size.height) > kLongestSide;
  if (too_long || size.width * size.height > kMostPixels) {
    return Error{
        ErrorCode::out_of_range,
        {.operation = "svg_to_png",
         .given = message("the picture has {} x {} pixels",
                          fmt::format("{:.0f}", size.width),
                          fmt::format("{:.0f}", size.height)),
         .expected = too_long ? message("at most {} a side",
                                        fmt::format("{}", kLongestSide))
                              : message("at most {} in all",
                                        fmt::format("{:.0f}", kMostPixels))}};
  }
  return size;
}

Status draw(const RsvgLibrary& rsvg, RsvgHandle* picture, const Size& size,
            cairo_surface_t* surface) {
  const Owned<cairo_t> pen(rsvg.create(surface), rsvg.destroy);
  rsvg.set_colour(pen.get(), 1, 1, 1);
  rsvg.paint(pen.get());
  const RsvgRectangle whole{0, 0, size.width, size.height};
  GError* error = nullptr;
  if (rsvg.render(picture, pen.get(), &whole, &error) == FALSE) {
    return bad_svg(rsvg, error);
  }
  return status_of(rsvg, rsvg.status(pen.get()));
}

// What cairo calls with each piece of the file: no exception may pass it.
cairo_status_t append(void* file, const unsigned char* bytes,
                      unsigned int count) try {
  const auto piece = std::as_bytes(std::span(bytes, count));
  auto& all = *static_cast<std::vector<std::byte>*>(file);
  all.insert(all.end(), piece.begin(), piece.end());
  return CAIRO_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CAIRO_STATUS_NO_MEMORY;
}

Result<std::vector<std::byte>> draw_png(std::string_view svg, double zoom) {
  const Result<RsvgLibrary>& library = rsvg_library();
  HEADWISE_TRY(library);
  const RsvgLibrary& rsvg = *library;
  HEADWISE_ASSIGN(const auto picture, parse(rsvg, svg));
  HEADWISE_ASSIGN(const auto size, size_of(rsvg, picture.get(), zoom));
  const Owned<cairo_surface_t> surface(
      rsvg.surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(size.width),
                          static_cast<int>(size.height)),
      rsvg.surface_destroy);
  HEADWISE_TRY(status_of(rsvg, rsvg.surface_status(surface.get())));
  HEADWISE_TRY(draw(rsvg, picture.get(), size, surface.get()));
  std::vector<std::byte> file;
  HEADWISE_TRY(status_of(rsvg, rsvg.write_png(surface.get(), append, &file)));
  return file;
}

}  // namespace

Result<std::vector<std::byte>> svg_to_png(std::string_view svg, double zoom) {
  if (!std::isfinite(zoom) || zoom <= 0) {
    return Error{ErrorCode::invalid_argument,
                 {.operation = "svg_to_png",
                  .argument = "zoom",
                  .given = message("is {}", fmt::format("{}", zoom)),
                  .expected = "a number above 0"}};
  }
  return in_child([&] { return draw_png(svg, zoom); });
}

}  // namespace headwise::cli
