// What pruning wins in time: both models on the same tokens, in turns.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/transformer/transformer.h"

namespace headwise::cli {

// Medians, in seconds.
struct BeforeAndAfter {
  double before = 0;
  double after = 0;

  double ratio() const { return after / before; }
};

struct PrunedTimes {
  std::size_t sequences = 0;
  std::size_t tokens = 0;  // of each
  std::size_t rounds = 0;
  BeforeAndAfter attention;  // all layers' attention, with its projections
  BeforeAndAfter model;      // the whole encoder
};

// `progress` counts rounds, the one that warms up included. Errors: those of
// the encoder; out_of_memory.
Result<PrunedTimes> measure_times(const Transformer& before,
                                  const Transformer& after, std::size_t tokens,
                                  const Executor& executor,
                                  const Progress& progress);

}  // namespace headwise::cli
