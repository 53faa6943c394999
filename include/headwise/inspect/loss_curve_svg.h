// A picture of the loss of a training run, step by step, next to that of a
// baseline, in one self-contained SVG file. The baseline is dashed.
//
// Example:
//   std::string svg = loss_curve_svg({.title = "Loss",
//                                     .model = {"attention", run.losses()},
//                                     .baseline = {"uniform attention weights",
//                                                  run.uniform_losses()}})
//                         .value();
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LossSeries {
  std::string name{};  // any text is safe, here and below
  std::span<const double> losses{};
};

struct LossCurve {
  std::string title{};         // of the file
  std::string heading{};       // above the plot
  std::string steps = "step";  // the name of the axis
  LossSeries model{};
  LossSeries baseline{};  // as many losses as the model has
};

// Errors: out_of_memory.
Result<std::string> loss_curve_svg(const LossCurve& curve);

// The means over at most `points` parts of about equal length.
std::vector<double> mean_losses(std::span<const double> losses,
                                std::size_t points);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
