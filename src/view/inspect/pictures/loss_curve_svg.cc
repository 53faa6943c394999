#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/axis_step.h"
#include "inspect/pictures/svg_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// In pixels.
constexpr double kLeft = 60;
constexpr double kTop = 44;
constexpr double kWidth = 560;
constexpr double kHeight = 300;

// Two colours that colour-blind readers can tell apart; the dashes help too.
constexpr std::string_view kModelStyle = R"(stroke="#0072b2")";
constexpr std::string_view kBaselineStyle =
    R"(stroke="#d55e00" stroke-dasharray="6 3")";

// With one decimal: "44.0".
std::string tenths_text(double number) {
  std::array<char, 40> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number,
                    std::chars_format::fixed, 1);
  return {text.data(), end};
}

// The largest number of both; above 0.
double largest(const std::vector<double>& a, const std::vector<double>& b) {
  double top = 1e-9;
  for (const auto* const points : {&a, &b}) {
    for (const double loss : *points) {
      top = std::max(top, loss);
    }
  }
  return top;
}

std::string middle_text(const std::string& x, double y,
                        const std::string& words) {
  return "<text x=\"" + x + "\" y=\"" + number_text(y) +
         "\" text-anchor=\"middle\">" + words + "</text>\n";
}

std::string polyline(const std::vector<double>& points, double top,
                     std::string_view style) {
  std::string text = "<polyline fill=\"none\" stroke-width=\"2\" " +
                     std::string(style) + " points=\"";
  for (std::size_t n = 0; n < points.size(); ++n) {
    const double x =
        (static_cast<double>(n) + 0.5) / static_cast<double>(points.size());
    text += (n == 0 ? "" : " ") + tenths_text(kLeft + x * kWidth) + "," +
            tenths_text(kTop + (1 - points[n] / top) * kHeight);
  }
  return text + "\"/>\n";
}

std::string axes(double top, std::size_t steps, const std::string& name) {
  std::string text;
  const double step = axis_step(top);
  for (int n = 0; n * step <= top; ++n) {
    const double loss = n * step;
    const double y = kTop + (1 - loss / top) * kHeight;
    text += "<path d=\"M" + number_text(kLeft) + " " + tenths_text(y) + "h" +
            number_text(kWidth) + "\" stroke=\"#ccc\"/>\n<text x=\"" +
            number_text(kLeft - 8) + "\" y=\"" + tenths_text(y + 4) +
            "\" text-anchor=\"end\">" + number_text(loss, 3) + "</text>\n";
  }
  for (std::size_t n = 0; n <= 4; ++n) {
    text +=
        middle_text(tenths_text(kLeft + static_cast<double>(n) / 4 * kWidth),
                    kTop + kHeight + 20, std::to_string(steps * n / 4));
  }
  return text + middle_text(number_text(kLeft + kWidth / 2),
                            kTop + kHeight + 40, svg_text(name));
}

std::string key(double x, std::string_view style, const std::string& name) {
  return "<path d=\"M" + number_text(x) + " 32h28\" stroke-width=\"2\" " +
         std::string(style) + "/>\n<text x=\"" + number_text(x + 36) +
         "\" y=\"36\">" + svg_text(name) + "</text>\n";
}

std::string frame(const LossCurve& curve) {
  const std::string width = number_text(kLeft + kWidth + 20);
  const std::string height = number_text(kTop + kHeight + 52);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width +
         "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
         "\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" "
         "fill=\"#222\">\n<title>" +
         svg_text(curve.title) +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
         "<text x=\"" +
         number_text(kLeft) + "\" y=\"18\" font-size=\"14\">" +
         svg_text(curve.heading) + "</text>\n";
}

}  // namespace

Result<std::string> loss_curve_svg(const LossCurve& curve) try {
  constexpr std::size_t kPoints = 280;  // two pixels per point
  const std::vector<double> model = mean_losses(curve.model.losses, kPoints);
  const std::vector<double> baseline =
      mean_losses(curve.baseline.losses, kPoints);
  const double top = largest(model, baseline);
  return frame(curve) + key(kLeft, kModelStyle, curve.model.name) +
         key(kLeft + 140, kBaselineStyle, curve.baseline.name) +
         axes(top, curve.model.losses.size(), curve.steps) +
         polyline(baseline, top, kBaselineStyle) +
         polyline(model, top, kModelStyle) + "</svg>\n";
} catch (...) {
  return caught_out_of_memory();
}

std::vector<double> mean_losses(std::span<const double> losses,
                                std::size_t points) {
  points = std::min(points, losses.size());
  std::vector<double> result;
  for (std::size_t n = 0; n < points; ++n) {
    const std::size_t begin = n * losses.size() / points;
    const std::size_t end = (n + 1) * losses.size() / points;
    double sum = 0;
    for (const double loss : losses.subspan(begin, end - begin)) {
      sum += loss;
    }
    result.push_back(sum / static_cast<double>(end - begin));
  }
  return result;
}

}  // namespace headwise::inline HEADWISE_ABI
