// The loss of a run and of its twin with uniform attention weights, step by
// step, as a picture and as text for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headwise::cli {

// Both of one length, one loss a step.
struct TrainCurve {
  std::string_view task;
  std::span<const double> losses;
  std::span<const double> uniform_losses;
};

// An SVG that stands alone.
std::string curve_svg(const TrainCurve& curve);
// '*' is the model, 'o' its twin; at most `columns` wide.
std::string curve_text(const TrainCurve& curve, std::size_t columns);

}  // namespace headwise::cli
