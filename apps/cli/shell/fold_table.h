// Tables that fit the terminal: columns that do not are shown below.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace headwise::cli {

// Wide enough for any table.
inline constexpr auto kUnfolded = std::numeric_limits<std::size_t>::max();

// The columns of the terminal that standard output is, else $COLUMNS; without
// either, as in a pipe, kUnfolded.
std::size_t output_width();

// Lines of cells that shown() gave; the cells of a column are padded to one
// width, the gap to the column before included. Where a line is wider than
// `width`, the table goes on below, each part with the first column.
std::string folded_table(const std::vector<std::vector<std::string>>& lines,
                         std::size_t width = output_width());

}  // namespace headwise::cli
