// The numbers of heads as a table, comma separated values and JSON.
#pragma once

#include <string>

#include "seen_heads.h"
#include "stats_lines.h"

namespace headwise::cli {

std::string stats_table(const HeadStats& stats);
std::string stats_csv(const HeadStats& stats);
std::string stats_json(const SeenText& seen, const HeadStats& stats);

}  // namespace headwise::cli
