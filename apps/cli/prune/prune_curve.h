// The accuracy curve of --curve: measured, as text, as JSON and as a picture.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/prune/pruned_accuracy.h"
#include "prune_job.h"

namespace headwise::cli {

// What was measured before an interruption is taken from the journal next to
// the picture. Errors: those of accuracy_curve().
Result<std::vector<CurvePoint>> measure_curve(const PruneJob& job);

std::string curve_text(const PruneJob& job,
                       const std::vector<CurvePoint>& curve);
std::string curve_json(const PruneJob& job,
                       const std::vector<CurvePoint>& curve);
// Errors: out_of_memory.
Result<std::string> curve_picture(const PruneJob& job,
                                  const std::vector<CurvePoint>& curve);

}  // namespace headwise::cli
