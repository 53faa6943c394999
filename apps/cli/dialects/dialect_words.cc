#include "dialect_words.h"

#include <fmt/format.h>

namespace headwise::cli {

std::string rows_text(std::span<const std::array<std::size_t, 3>> first_rows,
                      std::size_t count) {
  std::string text;
  for (const auto& [b, h, i] : first_rows) {
    text += fmt::format("{}({}, {}, {})", text.empty() ? "" : " ", b, h, i);
  }
  return count > first_rows.size() ? text + " ..." : text;
}

}  // namespace headwise::cli
