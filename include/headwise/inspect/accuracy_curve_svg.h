// A picture of a model's accuracy against the number of heads removed, next to
// the accuracy when the same number is removed at random. One self-contained
// SVG file with a white background, so that it reads well on light and dark
// pages.
//
// A series is a line through its points, each with a bar from low to high. The
// random series is a dashed line through the means, in a band from low to high.
//
// Example:
//   AccuracyCurve curve{.title = "IMDb",
//                       .series = {.name = "Taylor importance",
//                                  .range = "95% confidence interval",
//                                  .points = {{0, 92.1, 91.2, 93.0},
//                                             {12, 91.8, 90.9, 92.7}}}};
//   std::string svg = accuracy_curve_svg(curve).value();
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// In percent. No interval is drawn unless both low and high are finite.
struct AccuracyPoint {
  std::size_t heads_removed;
  double accuracy;
  double low;
  double high;
};

struct AccuracySeries {
  std::string name{};   // any text is safe, here and below
  std::string range{};  // what low and high mean
  // In any order; points whose accuracy is not finite are skipped.
  std::vector<AccuracyPoint> points{};
};

struct AccuracyCurve {
  std::string title{};
  std::string subtitle{};  // may be empty
  AccuracySeries series{};
  AccuracySeries random{};  // not drawn without points
  Language language = Language::en;
  // Size of the plot inside its axes, in pixels, at least 120 and 80.
  double width = 560;
  double height = 300;
};

// A picture without points says so. Errors: out_of_memory.
Result<std::string> accuracy_curve_svg(const AccuracyCurve& curve);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
