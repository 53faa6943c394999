// The numbers of heads as a table, comma separated values and JSON.
#pragma once

#include <string>

#include "corpus_stats.h"
#include "stats_lines.h"
#include "viewed_heads.h"

namespace headwise::cli {

std::string stats_table(const HeadStats& stats);
std::string stats_csv(const HeadStats& stats);
std::string stats_json(const ViewedText& seen, const HeadStats& stats);
std::string stats_json(const CorpusStats& corpus);

}  // namespace headwise::cli
