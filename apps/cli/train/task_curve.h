// The loss of a run and of its twin with uniform attention weights, step by
// step, as a picture and as text for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/train/task_run.h"

namespace headwise::cli {

// Both have one loss per step.
struct TaskCurve {
  std::string_view task;
  std::span<const double> losses;
  std::span<const double> uniform_losses;
};
TaskCurve curve_of(const TaskRun& run);

// An SVG file. Errors: out_of_memory.
Result<std::string> curve_svg(const TaskCurve& curve);
// '*' is the model, 'o' its twin; at most `columns` wide.
std::string curve_text(const TaskCurve& curve, std::size_t columns);

}  // namespace headwise::cli
