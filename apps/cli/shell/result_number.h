// Numbers of results in CSV and JSON: all digits of a float32.
#pragma once

#include <string>

#include "shell/json.h"

namespace headwise::cli {

// A comma and the number; nothing behind the comma for NaN.
std::string csv_field(double number);
// null for NaN.
Json json_number(double number);

}  // namespace headwise::cli
