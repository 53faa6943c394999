#include "option_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headwise::cli {

Error bad_option(std::string_view option, const std::string& given,
                 std::string_view expected) {
  return {ErrorCode::invalid_argument,
          fmt::format("{} is {}, expected {}", option, given, expected)};
}

Error wrong_rank(std::string_view option, const Array& array,
                 std::string_view expected) {
  return {ErrorCode::shape_mismatch,
          fmt::format("{} has shape ({}), expected {}", option,
                      fmt::join(array.shape, ", "), expected)};
}

}  // namespace headwise::cli
