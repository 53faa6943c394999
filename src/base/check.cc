#include "base/check.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/out_of_memory.h"
#include "headwise/base/tensor.h"

namespace headwise::internal::inline HEADWISE_ABI {

std::string shape_text(std::span<const std::size_t> extents) {
  std::string text = "(";
  for (const std::size_t extent : extents) {
    if (text.size() > 1) {
      text += ", ";
    }
    text += std::to_string(extent);
  }
  return text + ")";
}

Error shape_error(std::string_view operation, std::string_view argument,
                  std::span<const std::size_t> given, std::string_view axes,
                  std::span<const std::size_t> expected) {
  return {ErrorCode::shape_mismatch,
          ErrorDetails{
              .operation = std::string(operation),
              .argument = std::string(argument),
              .given = "has shape " + shape_text(given),
              .expected = std::string(axes) + " = " + shape_text(expected)}};
}

Status check_shape(std::string_view operation, std::string_view argument,
                   std::span<const std::size_t> given, std::string_view axes,
                   std::span<const std::size_t> expected) {
  if (std::ranges::equal(given, expected)) {
    return ok();
  }
  return shape_error(operation, argument, given, axes, expected);
}

Error value_error(std::string_view operation, std::string_view argument,
                  std::string_view given, std::string_view expected,
                  ErrorCode code) {
  return {code, ErrorDetails{.operation = std::string(operation),
                             .argument = std::string(argument),
                             .given = "is " + std::string(given),
                             .expected = std::string(expected)}};
}

Status check_at_least_one(std::string_view operation, std::string_view argument,
                          std::size_t size) {
  if (size != 0) {
    return ok();
  }
  return value_error(operation, argument, "0", "at least 1");
}

std::string number_text(double number, int digits) {
  std::array<char, 40> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number,
                    std::chars_format::general, digits);
  return {text.data(), end};
}

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI::detail {

Error too_large(std::span<const std::size_t> extents,
                std::size_t element_bytes) try {
  return {ErrorCode::out_of_memory,
          "a tensor of shape " + shape_text(extents) + " with " +
              std::to_string(element_bytes) +
              " bytes an element needs more memory than there is"};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI::detail
