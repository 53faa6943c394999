// What each head does, in numbers, from the pass that computes attention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribution.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/result.h"
#include "kept_heads.h"
#include "operation/operation_flags.h"
#include "viewed_heads.h"

namespace headwise::cli {

struct HeadLine {
  std::size_t layer;
  std::size_t head;
  // NaN where no query has a key, and of numbers that mean nothing.
  std::array<double, kStatistics> mean;
  std::int64_t queries;
  std::int64_t without_key;
};

struct PrunedLayer {
  std::size_t layer = 0;
  KeptHeads heads;
};

struct HeadStats {
  std::vector<HeadLine> lines;      // of the heads that stay
  std::vector<PrunedLayer> pruned;  // layers from which heads were taken
  // Of cross-attention, where numbers that compare positions mean nothing.
  bool cross = false;
  std::size_t sequences = 1;  // that the means are over
  // Whether anything says which tokens are separators.
  bool separators = true;
  std::optional<Attribution> attribution{};
};

// With an attribution, if one is asked for. Errors: those of
// attention_statistics(), in the words of the options, and of the attribution;
// those of check_numbers() for a model.
Result<HeadStats> compute_head_stats(const ViewedHeads& heads,
                                     const OperationFlags& flags,
                                     const AttributionFlags& attribution);

// Whether the attention weights of all heads are numbers. Errors: bad_data, of
// the model that `option` gives.
Status check_numbers(std::string_view option,
                     const std::vector<HeadLine>& lines);

// By a statistic, or a column of the attribution: the largest first; heads
// without the number last.
void sort_by(const std::string& name, HeadStats& stats);

// What the attribution says of the head of a line; null without one.
const HeadAttribution* attribution_of(const HeadStats& stats,
                                      const HeadLine& line);

}  // namespace headwise::cli
