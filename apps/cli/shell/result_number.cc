#include "result_number.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace headwise::cli {

std::string csv_field(double number) {
  return std::isnan(number) ? ","
                            : fmt::format(",{}", static_cast<float>(number));
}

std::string csv_text(const std::string& text) {
  std::string field = "\"";
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) !=
                           std::string_view::npos) {
    field += '\'';
  }
  for (const char c : text) {
    field += c == '"' ? "\"\"" : std::string(1, c);
  }
  return field + "\"";
}

Json json_number(double number) {
  return std::isnan(number) ? Json() : Json(static_cast<float>(number));
}

}  // namespace headwise::cli
