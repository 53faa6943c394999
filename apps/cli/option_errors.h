// What is wrong with an option: its name, what was given, what was expected.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"

namespace headwise::cli {

// invalid_argument.
Error bad_option(std::string_view option, const std::string& given,
                 std::string_view expected);

// shape_mismatch, of the file that the option names.
Error wrong_rank(std::string_view option, const Array& array,
                 std::string_view expected);

}  // namespace headwise::cli
