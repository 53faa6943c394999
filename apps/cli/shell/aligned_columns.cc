#include "aligned_columns.h"

#include <algorithm>

#include "terminal_text.h"

namespace headwise::cli {

std::string aligned_columns(const std::vector<std::vector<std::string>>& lines,
                            std::size_t width) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(line.size());
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths[c] = std::max(widths[c], columns_of(line[c]));
    }
  }
  std::vector<std::vector<std::string>> padded = lines;
  for (auto& line : padded) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string room(widths[c] - columns_of(line[c]), ' ');
      line[c] = (c == 0 ? "" : "  ") + line[c] + room;
    }
  }
  return folded_table(padded, width);
}

}  // namespace headwise::cli
