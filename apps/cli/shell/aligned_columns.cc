#include "aligned_columns.h"

#include <algorithm>
#include <cstddef>

#include "terminal_text.h"

namespace headwise::cli {

std::string aligned_columns(
    const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(line.size());
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths[c] = std::max(widths[c], columns_of(line[c]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += line[c];
      text += c + 1 == line.size()
                  ? "\n"
                  : std::string(widths[c] - columns_of(line[c]) + 2, ' ');
    }
  }
  return text;
}

}  // namespace headwise::cli
