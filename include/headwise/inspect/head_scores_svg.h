// A picture of one number for each head of a model, such as how much it
// matters: a heat map of layers and heads with the numbers in it, in one SVG
// file that needs nothing else and brings its own ground, so that it can be
// read on light and dark pages.
//
// Colours go evenly from the least number of the picture to the largest; the
// legend says both. A number that is infinite has the colour of what is no
// number and stands outside of that range.
//
// Example:
//   HeadScores scores{.title = "Taylor importance",
//                     .scores = {{0.12, 0.034}, {0.5, kPrunedHead}},
//                     .removed = {{0, 1}}};
//   std::string svg = head_scores_svg(scores).value();
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/inspect/step_table.h"
#include "headwise/module/head_id.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// In the place of the number of a head that there is none of: it is hatched.
inline constexpr double kPrunedHead = std::numeric_limits<double>::quiet_NaN();

struct HeadScores {
  std::string title{};     // the method; any text is safe, here and below
  std::string subtitle{};  // may be empty
  // By layer, then by head; layers may have different numbers of heads, or
  // none.
  std::vector<std::vector<double>> scores{};
  // Heads that are framed and crossed; those that have no number are passed
  // over.
  std::vector<HeadId> removed{};
  Language language = Language::en;
};

// Without any head the picture says so. Errors: out_of_memory.
Result<std::string> head_scores_svg(const HeadScores& scores);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
