// Lines of cells as text, each column as wide as its widest cell.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fold_table.h"

namespace headwise::cli {

// Two spaces between columns; the first line may be titles. Every line has as
// many cells. The cells are text that shown() gave. Folded as folded_table().
std::string aligned_columns(const std::vector<std::vector<std::string>>& lines,
                            std::size_t width = output_width());

}  // namespace headwise::cli
