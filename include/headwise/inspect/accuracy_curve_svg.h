// A picture of a model's accuracy against the number of heads that were
// removed, beside what removing as many at random does, in one SVG file that
// needs nothing else and brings its own ground, so that it can be read on light
// and dark pages.
//
// A series is a line through its points with a bar from low to high at each;
// the random one, dashed, is a mean in a band from low to high.
//
// Example:
//   AccuracyCurve curve{.title = "IMDb",
//                       .series = {.name = "Taylor importance",
//                                  .range = "95% interval",
//                                  .points = {{0, 92.1, 91.2, 93.0},
//                                             {12, 91.8, 90.9, 92.7}}}};
//   std::string svg = accuracy_curve_svg(curve).value();
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/inspect/language.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// In percent. Where low or high is no finite number there is neither.
struct AccuracyPoint {
  std::size_t heads_removed;
  double accuracy;
  double low;
  double high;
};

struct AccuracySeries {
  std::string name{};   // any text is safe, here and below
  std::string range{};  // what low and high are, such as "95% interval"
  // In any order; those whose accuracy is no finite number are passed over.
  std::vector<AccuracyPoint> points{};
};

struct AccuracyCurve {
  std::string title{};
  std::string subtitle{};  // may be empty
  AccuracySeries series{};
  AccuracySeries random{};  // without points there is none
  Language language = Language::en;
  // Of the plot within its axes, in pixels, at least 120 and 80.
  double width = 560;
  double height = 300;
};

// Without any point the picture says so. Errors: out_of_memory.
Result<std::string> accuracy_curve_svg(const AccuracyCurve& curve);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
