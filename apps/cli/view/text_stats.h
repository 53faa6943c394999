// `headwise stats --texts`: each statistic of the heads, averaged over texts,
// with 95% confidence intervals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/heads/find_heads.h"
#include "operation/models/unknown_tokens.h"
#include "shell/outcome.h"
#include "stats_lines.h"
#include "viewed_flags.h"

namespace headwise::cli {

struct TextStats {
  std::string model;
  std::string texts;  // the file
  std::size_t count = 0;
  UnknownTokens tokens{};
  std::size_t cut = 0;
  std::size_t empty_lines = 0;  // left out
  std::size_t max_tokens = 0;
  std::vector<AveragedHead> heads{};
  std::vector<PrunedLayer> pruned{};
};

// Errors: usage, for options that do not go with --texts.
Status check_text_stats_flags(const ViewedFlags& seen);

// `sort` names a statistic, or is empty. Errors: those of the file, the model
// and the texts.
Result<TextStats> compute_text_stats(const ViewedFlags& seen,
                                     const std::string& texts,
                                     const std::string& sort);

std::string text_stats_table(const TextStats& stats);
std::string text_stats_csv(const TextStats& stats);
std::string text_stats_json(const TextStats& stats);

}  // namespace headwise::cli
