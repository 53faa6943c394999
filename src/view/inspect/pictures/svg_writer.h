// Writes the SVG of a picture from top to bottom: text, rectangles and images
// on white, in a self-contained file.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// Returns an error of `operation` unless zoom is a number above 0.
Status check_zoom(std::string_view operation, double zoom);

// In pixels.
struct Box {
  double x;
  double y;
  double width;
  double height;
};

// The text at the top of a picture. The title is also that of the file.
struct SvgHeading {
  std::string_view title;
  std::string_view subtitle = "";

  // In pixels. A long heading or legend widens a picture up to this.
  static constexpr double kWidest = 1600;
  double width() const;
  double height() const;
};

class SvgWriter {
 public:
  // If `hatch` is given, "url(#HATCH)" is a fill for missing values. The
  // description is for readers who cannot see the picture.
  SvgWriter(double width, double height, const SvgHeading& heading,
            std::string_view hatch, std::string_view description = "");

  static constexpr double kMargin = 24;

  // `attributes` is markup; `words` and `tip` may be any text.
  void text(double x, double y, std::string_view words,
            std::string_view attributes = "");
  void rectangle(const Box& box, std::string_view fill,
                 std::string_view tip = "");
  void frame(const Box& box);
  // Each pixel becomes a sharp rectangle; `uri` is a data URI.
  void image(const Box& box, std::string_view uri, std::string_view tip);
  void markup(std::string_view text) { svg_ += text; }

  std::string finish() &&;

 private:
  std::string svg_;
};

}  // namespace headwise::inline HEADWISE_ABI
