#include "fold_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "terminal_text.h"

namespace headwise::cli {

std::size_t output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const char* const variable = std::getenv("COLUMNS");
  const std::string_view text = variable == nullptr ? "" : variable;
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  return width != 0 ? width : kUnfolded;
}

std::string folded_table(const std::vector<std::vector<std::string>>& lines,
                         std::size_t width) {
  std::string text;
  const std::vector<std::string>& first = lines.front();
  std::size_t begin = 1;
  do {
    std::size_t end = begin;
    std::size_t columns = columns_of(first[0]);
    while (end < first.size() &&  // one column at least
           (end == begin || columns + columns_of(first[end]) <= width)) {
      columns += columns_of(first[end++]);
    }
    text += begin == 1 ? "" : "\n";
    for (const auto& line : lines) {
      std::string part = line[0];
      for (std::size_t c = begin; c < end; ++c) {
        part += line[c];
      }
      text += part.substr(0, part.find_last_not_of(' ') + 1) + '\n';
    }
    begin = end;
  } while (begin < first.size());
  return text;
}

}  // namespace headwise::cli
