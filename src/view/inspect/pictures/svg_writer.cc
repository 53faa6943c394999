#include "inspect/pictures/svg_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "inspect/pictures/svg_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::string attributes_of(const Box& box) {
  return "x=\"" + svg_number(box.x) + "\" y=\"" + svg_number(box.y) +
         "\" width=\"" + svg_number(box.width) + "\" height=\"" +
         svg_number(box.height) + "\"";
}

}  // namespace

Status check_zoom(std::string_view operation, double zoom) {
  if (std::isfinite(zoom) && zoom > 0) {
    return ok();
  }
  return value_error(operation, "zoom", number_text(zoom), "a number above 0");
}

double SvgHeading::width() const {
  constexpr double kTitleCharacter = 10.5;
  constexpr double kSubtitleCharacter = 7.4;
  return std::min(kWidest,
                  std::max(text_columns(title) * kTitleCharacter,
                           text_columns(subtitle) * kSubtitleCharacter));
}

double SvgHeading::height() const { return subtitle.empty() ? 32 : 52; }

SvgWriter::SvgWriter(double width, double height, const SvgHeading& heading,
                     std::string_view hatch, std::string_view description) {
  svg_ = R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" +
         svg_number(width) + "\" height=\"" + svg_number(height) +
         "\" viewBox=\"0 0 " + svg_number(width) + " " + svg_number(height) +
         "\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n"
         "<title>" +
         svg_text(heading.title) + "</title>\n" +
         (description.empty() ? ""
                              : "<desc>" + svg_text(description) + "</desc>\n");
  if (!hatch.empty()) {
    svg_ += "<defs>\n<pattern id=\"";
    svg_ += hatch;
    svg_ +=
        R"svg(" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#f4f4f4"/>
<line x1="0" y1="0" x2="0" y2="5" stroke="#9a9a9a" stroke-width="1.6"/>
</pattern></defs>
)svg";
  }
  svg_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  text(kMargin, kMargin + 14, heading.title,
       R"(font-size="16" font-weight="bold")");
  if (!heading.subtitle.empty()) {
    text(kMargin, kMargin + 36, heading.subtitle,
         R"(font-size="12" fill="#555")");
  }
}

void SvgWriter::text(double x, double y, std::string_view words,
                     std::string_view attributes) {
  svg_ += "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" ";
  svg_ += attributes;
  svg_ += ">" + svg_text(words) + "</text>\n";
}

void SvgWriter::rectangle(const Box& box, std::string_view fill,
                          std::string_view tip) {
  svg_ += "<rect " + attributes_of(box) + " fill=\"";
  svg_ += fill;
  svg_ += tip.empty() ? std::string("\"/>\n")
                      : "\"><title>" + svg_text(tip) + "</title></rect>\n";
}

void SvgWriter::frame(const Box& box) {
  svg_ += "<rect " + attributes_of(box) +
          " fill=\"none\" stroke=\"#444\" stroke-width=\"0.6\"/>\n";
}

void SvgWriter::image(const Box& box, std::string_view uri,
                      std::string_view tip) {
  // The attribute is for programs that support only SVG 1.1. href is written as
  // xlink:href for the same reason.
  svg_ += "<image " + attributes_of(box) +
          " preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\""
          " style=\"image-rendering:pixelated\""
          " xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"";
  svg_ += uri;
  svg_ += "\"><title>" + svg_text(tip) + "</title></image>\n";
}

std::string SvgWriter::finish() && { return std::move(svg_) + "</svg>\n"; }

}  // namespace headwise::inline HEADWISE_ABI
