// How accuracy falls as heads go, in the order of the scores and in random
// ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "prune_job.h"

namespace headwise::cli {

// At one number of heads removed.
struct CurvePoint {
  std::size_t removed = 0;
  Answers by_score;
  std::vector<double> random;  // the accuracy of each random order
};

// Mean, and the interval of 95 of 100 of the mean (Student's t).
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
MeanInterval mean_of(const std::vector<double>& values);

// From none to 90% of the heads, tenth by tenth. What was measured before an
// interruption is taken from the journal beside the picture. Errors: those of
// scoring.
Result<std::vector<CurvePoint>> measure_curve(const PruneJob& job);

std::string curve_text(const PruneJob& job,
                       const std::vector<CurvePoint>& curve);
std::string curve_json(const PruneJob& job,
                       const std::vector<CurvePoint>& curve);
// Errors: out_of_memory.
Result<std::string> curve_picture(const PruneJob& job,
                                  const std::vector<CurvePoint>& curve);

}  // namespace headwise::cli
