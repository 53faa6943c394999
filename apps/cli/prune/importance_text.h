// The scores of a model's heads, to be read.
#pragma once

#include <string>

#include "headwise/prune/importance.h"

namespace headwise::cli {

// A table, a layer a line and a head a column, and which ones matter least and
// most.
std::string table_of(const ImportanceFile& file);

}  // namespace headwise::cli
