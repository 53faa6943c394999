#include "result_number.h"

#include <fmt/format.h>

#include <cmath>

namespace headwise::cli {

std::string csv_field(double number) {
  return std::isnan(number) ? ","
                            : fmt::format(",{}", static_cast<float>(number));
}

Json json_number(double number) {
  return std::isnan(number) ? Json() : Json(static_cast<float>(number));
}

}  // namespace headwise::cli
