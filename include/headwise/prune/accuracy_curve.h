// How accuracy falls as heads are removed, in the order of their scores and in
// random orders to compare with.
//
// Errors: those of PrunedAccuracy.
//
// Example:
//   PrunedAccuracy accuracy("topics", *model.probe, text);
//   auto curve = accuracy_curve(order, accuracy, {.random_orders = 10});
//   curve->back().by_score.accuracy();  // with 90% of the heads removed
//   mean_of(curve->back().random).mean;
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/run/progress.h"
#include "headwise/train/accuracy.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The accuracy with some number of heads removed.
struct CurvePoint {
  std::size_t removed = 0;
  Answers by_score;            // in the order of the scores
  std::vector<double> random;  // the accuracy in each random order
};

struct AccuracyCurveOptions {
  std::size_t random_orders = 0;
  Seed seed{};          // of the random orders
  Progress progress{};  // counts points
};

// 10 points, from none to 90% of the heads removed.
Result<std::vector<CurvePoint>> accuracy_curve(
    const std::vector<HeadId>& order, PrunedAccuracy& accuracy,
    const AccuracyCurveOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
