#include "task_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

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

std::string step_word() { return say("step"); }

std::string attention_word() { return say("attention"); }

std::string uniform_words() { return say("uniform attention weights"); }

}  // namespace

TaskCurve curve_of(const TaskRun& run) {
  return {name_of(run.settings().task), run.losses(), run.uniform_losses()};
}

Result<std::string> curve_svg(const TaskCurve& curve) {
  return loss_curve_svg(
      {.title = say("Loss of task {} over {} steps", curve.task,
                    curve.losses.size()),
       .heading = say("{}: cross-entropy of each batch", curve.task),
       .steps = step_word(),
       .model = {attention_word(), curve.losses},
       .baseline = {uniform_words(), curve.uniform_losses}});
}

std::string curve_text(const TaskCurve& curve, std::size_t columns) {
  constexpr std::size_t kRows = 12;
  constexpr std::size_t kLabel = 6;  // "12.34 "
  const std::size_t points =
      std::max<std::size_t>(columns, kLabel + 2) - kLabel - 1;
  const std::vector<double> model = mean_losses(curve.losses, points);
  const std::vector<double> uniform = mean_losses(curve.uniform_losses, points);
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
  std::string text =
      say("loss: * {}, o {}\n", attention_word(), uniform_words());
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool labelled = row == 0 || row == kRows - 1;
    const std::string label = labelled
                                  ? fmt::format("{:5.2f} ", row == 0 ? top : 0)
                                  : std::string(kLabel, ' ');
    const std::size_t end = rows[row].find_last_not_of(' ') + 1;
    text += label + "|" + rows[row].substr(0, end) + "\n";
  }
  const std::string steps = say("step {}", curve.losses.size());
  const std::size_t taken = columns_of(steps) + 1;
  const std::size_t gap = model.size() > taken ? model.size() - taken : 1;
  return text + std::string(kLabel + 1, ' ') + "0" + std::string(gap, ' ') +
         steps + "\n";
}

}  // namespace headwise::cli
