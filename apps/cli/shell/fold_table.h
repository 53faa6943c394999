// Tables that fit the terminal: columns that do not are shown below.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headwise::cli {

// The columns of the terminal that standard output is, else $COLUMNS; without
// either, as in a pipe, the largest number.
std::size_t output_width();

// Lines of cells that shown() gave; the cells of a column are padded to one
// width, the gap to the column before included. Where a line is wider than
// `width`, the table goes on below, each part with the first column.
std::string folded_table(const std::vector<std::vector<std::string>>& lines,
                         std::size_t width = output_width());

}  // namespace headwise::cli
