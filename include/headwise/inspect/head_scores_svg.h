// A picture of one number per head of a model, such as its importance: a heat
// map of layers and heads with the numbers in it. One self-contained SVG file
// with a white background, so that it reads well on light and dark pages.
//
// Colours are linear from the smallest to the largest number, which the legend
// shows. An infinite number is magenta and does not count in that range.
//
// Example:
//   HeadScores scores{.title = "Taylor importance",
//                     .scores = {{0.12, 0.034}, {0.5, kPrunedHead}},
//                     .removed = {{0, 1}}};
//   std::string svg = head_scores_svg(scores).value();
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/module/head_id.h"
#include "headwise/version.h"
#include "headwise/words/language.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The score of a pruned head, which is drawn hatched.
inline constexpr double kPrunedHead = std::numeric_limits<double>::quiet_NaN();

struct HeadScores {
  std::string title{};     // the method; any text is safe, here and below
  std::string subtitle{};  // may be empty
  // By layer, then by head; layers may have different numbers of heads, or
  // none.
  std::vector<std::vector<double>> scores{};
  // Heads drawn with a frame and a cross; heads without a number are skipped.
  std::vector<HeadId> removed{};
  Language language = Language::en;
};

// A picture without heads says so. Errors: out_of_memory.
Result<std::string> head_scores_svg(const HeadScores& scores);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
