// The numbers of heads as a table, comma separated values and JSON.
#pragma once

#include <string>
#include <vector>

#include "corpus_stats.h"
#include "shell/json.h"
#include "stats_lines.h"
#include "viewed_heads.h"

namespace headwise::cli {

// The heads that were pruned: a line per layer; an array.
std::string pruned_text(const std::vector<PrunedLayer>& layers);
Json pruned_json(const std::vector<PrunedLayer>& layers);

std::string stats_table(const HeadStats& stats);
std::string stats_csv(const HeadStats& stats);
// The same; with an attribution to tokens, those in place of the heads.
std::string stats_csv(const ViewedText& seen, const HeadStats& stats);
std::string stats_json(const ViewedText& seen, const HeadStats& stats);
std::string stats_json(const CorpusStats& corpus);

// What an attribution says besides the numbers of heads: what its gradients are
// of, and the numbers of tokens; empty without one.
std::string attribution_text(const ViewedText& seen, const HeadStats& stats);

}  // namespace headwise::cli
