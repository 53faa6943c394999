// Results in CSV and JSON: numbers with all digits of a float32, and texts.
#pragma once

#include <string>

#include "json.h"

namespace headwise::cli {

// A comma and the number; nothing behind the comma for NaN.
std::string csv_field(double number);
// A text in quotes, after a ' where a spreadsheet would take it for a formula.
std::string csv_text(const std::string& text);
// null for NaN.
Json json_number(double number);

}  // namespace headwise::cli
