#include "train_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headwise/inspect/axis_step.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// The means of at most `points` stretches of steps.
std::vector<double> means(std::span<const double> losses, std::size_t points) {
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

// Of both; greater than 0.
double largest(const std::vector<double>& a, const std::vector<double>& b) {
  double top = 1e-9;
  for (const auto* const points : {&a, &b}) {
    for (const double loss : *points) {
      top = std::max(top, loss);
    }
  }
  return top;
}

// ---- Words. ----

std::string step_word() { return say({"step", "스텝"}); }

std::string attention_word() { return say({"attention", "어텐션"}); }

std::string uniform_words() {
  return say({"uniform attention weights", "균등 어텐션 가중치"});
}

// ---- The picture. ----

constexpr double kLeft = 60;
constexpr double kTop = 44;
constexpr double kWidth = 560;
constexpr double kHeight = 300;

// Two colours that every eye tells apart, and so do their dashes.
constexpr std::string_view kModelStyle = R"(stroke="#0072b2")";
constexpr std::string_view kUniformStyle =
    R"(stroke="#d55e00" stroke-dasharray="6 3")";

std::string polyline(const std::vector<double>& points, double top,
                     std::string_view style) {
  std::string text;
  for (std::size_t n = 0; n < points.size(); ++n) {
    const double x =
        (static_cast<double>(n) + 0.5) / static_cast<double>(points.size());
    text +=
        fmt::format("{}{:.1f},{:.1f}", n == 0 ? "" : " ", kLeft + x * kWidth,
                    kTop + (1 - points[n] / top) * kHeight);
  }
  return fmt::format(
      "<polyline fill=\"none\" stroke-width=\"2\" {} points=\"{}\"/>\n", style,
      text);
}

std::string axes(double top, std::size_t steps) {
  std::string text;
  const double step = axis_step(top);
  for (int n = 0; n * step <= top; ++n) {
    const double loss = n * step;
    const double y = kTop + (1 - loss / top) * kHeight;
    text += fmt::format(
        "<path d=\"M{} {:.1f}h{}\" stroke=\"#ccc\"/>\n"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>\n",
        kLeft, y, kWidth, kLeft - 8, y + 4, loss);
  }
  for (std::size_t n = 0; n <= 4; ++n) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        kLeft + static_cast<double>(n) / 4 * kWidth, kTop + kHeight + 20,
        steps * n / 4);
  }
  return text +
         fmt::format(
             "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
             kLeft + kWidth / 2, kTop + kHeight + 40, step_word());
}

std::string key(double x, std::string_view style, std::string_view label) {
  return fmt::format(
      "<path d=\"M{} 32h28\" stroke-width=\"2\" {}/>\n"
      "<text x=\"{}\" y=\"36\">{}</text>\n",
      x, style, x + 36, label);
}

}  // namespace

std::string curve_svg(const TrainCurve& curve) {
  constexpr std::size_t kPoints = 280;  // two pixels each
  const std::vector<double> model = means(curve.losses, kPoints);
  const std::vector<double> uniform = means(curve.uniform_losses, kPoints);
  const double top = largest(model, uniform);
  const double width = kLeft + kWidth + 20;
  const double height = kTop + kHeight + 52;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
             "height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
             "<title>{2}</title>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
             "<text x=\"{3}\" y=\"18\" font-size=\"14\">{4}</text>\n",
             width, height,
             say({"Loss of task {} over {} steps", "과제 {}의 손실, {}스텝"},
                 curve.task, curve.losses.size()),
             kLeft,
             say({"{}: cross-entropy of each batch",
                  "{}: 배치별 교차 엔트로피"},
                 curve.task)) +
         key(kLeft, kModelStyle, attention_word()) +
         key(kLeft + 140, kUniformStyle, uniform_words()) +
         axes(top, curve.losses.size()) +
         polyline(uniform, top, kUniformStyle) +
         polyline(model, top, kModelStyle) + "</svg>\n";
}

std::string curve_text(const TrainCurve& curve, std::size_t columns) {
  constexpr std::size_t kRows = 12;
  constexpr std::size_t kLabel = 6;  // "12.34 "
  const std::size_t points =
      std::max<std::size_t>(columns, kLabel + 2) - kLabel - 1;
  const std::vector<double> model = means(curve.losses, points);
  const std::vector<double> uniform = means(curve.uniform_losses, points);
  const double top = largest(model, uniform);
  std::vector<std::string> rows(kRows, std::string(model.size(), ' '));
  const auto plot = [&](const std::vector<double>& losses, char mark) {
    for (std::size_t n = 0; n < losses.size(); ++n) {
      const double share = std::clamp(losses[n] / top, 0.0, 1.0);
      const auto row = static_cast<std::size_t>(
          std::lround((1 - share) * static_cast<double>(kRows - 1)));
      rows[row][n] = mark;
    }
  };
  plot(uniform, 'o');
  plot(model, '*');
  std::string text = say({"loss: * {}, o {}\n", "손실: * {}, o {}\n"},
                         attention_word(), uniform_words());
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool labelled = row == 0 || row == kRows - 1;
    const std::string label = labelled
                                  ? fmt::format("{:5.2f} ", row == 0 ? top : 0)
                                  : std::string(kLabel, ' ');
    const std::size_t end = rows[row].find_last_not_of(' ') + 1;
    text += label + "|" + rows[row].substr(0, end) + "\n";
  }
  const std::string steps = say({"step {}", "{}스텝"}, curve.losses.size());
  const std::size_t taken = columns_of(steps) + 1;
  const std::size_t gap = model.size() > taken ? model.size() - taken : 1;
  return text + std::string(kLabel + 1, ' ') + "0" + std::string(gap, ' ') +
         steps + "\n";
}

}  // namespace headwise::cli
