// "F,LOW,HIGH" as its parts.
#pragma once

#include <string_view>
#include <vector>

namespace headwise::cli {

inline std::vector<std::string_view> comma_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace headwise::cli
