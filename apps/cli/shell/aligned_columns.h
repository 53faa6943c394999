// Lines of cells as text, each column as wide as its widest cell.
#pragma once

#include <string>
#include <vector>

namespace headwise::cli {

// Two spaces between columns; the first line may be titles. Every line has as
// many cells. The cells are text that shown() gave.
std::string aligned_columns(const std::vector<std::vector<std::string>>& lines);

}  // namespace headwise::cli
