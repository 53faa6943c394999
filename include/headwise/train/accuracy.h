// Accuracy of a classifier, with 95% confidence intervals.
//
// Example:
//   Answers before = answers_of(encoder, probe, text).value();
//   Answers after = answers_of(pruned, probe, text).value();
//   AccuracyChange change = change_between(before, after);
//   change.high < 0;  // pruning made it worse
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// For each text, whether the model predicted its label.
struct Answers {
  std::vector<bool> right;

  std::size_t count() const;  // of right answers
  double accuracy() const;    // 0 to 1
  // Wilson's score interval of the accuracy (Wilson 1927).
  ConfidenceInterval interval() const;
};

// How much higher the accuracy of `after` is on the same texts, with the
// interval for a difference of paired proportions.
struct AccuracyChange {
  double change = 0;
  double low = 0;
  double high = 0;
};
AccuracyChange change_between(const Answers& before, const Answers& after);

// A mean with Student's t interval, which has no width for a single value.
struct MeanWithInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
MeanWithInterval mean_of(const std::vector<double>& values);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
