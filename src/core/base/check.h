// Every message of the library about its arguments is built here, so that they
// all read alike: operation, argument, what was given, what was expected.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// "(2, 10, 8, 64)"
std::string shape_text(std::span<const std::size_t> extents);

// `attention: value has shape (2, 10), expected (B, Lkv) = (2, 12)`
Error shape_error(std::string_view operation, std::string_view argument,
                  std::span<const std::size_t> given, std::string_view axes,
                  std::span<const std::size_t> expected);
Status check_shape(std::string_view operation, std::string_view argument,
                   std::span<const std::size_t> given, std::string_view axes,
                   std::span<const std::size_t> expected);

// `attention: query has 7 heads, expected a multiple of the 2 heads of key`
Error argument_error(std::string_view operation, std::string_view argument,
                     Message given, Message expected,
                     ErrorCode code = ErrorCode::invalid_argument);
// `attention: dropout.p is 1.5, expected a number from 0 to 1`
// `given` is a name or a number; a literal is a form: "not given".
Error value_error(std::string_view operation, std::string_view argument,
                  std::string_view given, Message expected,
                  ErrorCode code = ErrorCode::invalid_argument);
Error value_error(std::string_view operation, std::string_view argument,
                  const char* given, Message expected,
                  ErrorCode code = ErrorCode::invalid_argument);
// Status that is an error when `size` is 0.
Status check_at_least_one(std::string_view operation, std::string_view argument,
                          std::size_t size);

// A number with this many significant digits, and a decimal point in every
// locale: "0.1", "-3", "nan". At most 20 digits.
std::string number_text(double number, int digits = 9);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
