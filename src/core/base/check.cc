#include "base/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "headwise/base/checked_product.h"
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
  constexpr std::string_view kBroadcast = " or 1 where broadcast";
  const std::string shape = shape_text(expected);
  return {ErrorCode::shape_mismatch,
          ErrorDetails{
              .operation = std::string(operation),
              .argument = std::string(argument),
              .given = message("has shape {}", shape_text(given)),
              .expected =
                  axes.ends_with(kBroadcast)
                      ? message("{} or 1 where broadcast = {}",
                                axes.substr(0, axes.size() - kBroadcast.size()),
                                shape)
                      : message(std::string(axes) + " = {}", shape)}};
}

Status check_shape(std::string_view operation, std::string_view argument,
                   std::span<const std::size_t> given, std::string_view axes,
                   std::span<const std::size_t> expected) {
  if (std::ranges::equal(given, expected)) {
    return ok();
  }
  return shape_error(operation, argument, given, axes, expected);
}

Error argument_error(std::string_view operation, std::string_view argument,
                     Message given, Message expected, ErrorCode code) {
  return {code, ErrorDetails{.operation = std::string(operation),
                             .argument = std::string(argument),
                             .given = std::move(given),
                             .expected = std::move(expected)}};
}

Error value_error(std::string_view operation, std::string_view argument,
                  std::string_view given, Message expected, ErrorCode code) {
  return argument_error(operation, argument, message("is {}", given),
                        std::move(expected), code);
}

Error value_error(std::string_view operation, std::string_view argument,
                  const char* given, Message expected, ErrorCode code) {
  return argument_error(operation, argument,
                        Message("is " + std::string(given)),
                        std::move(expected), code);
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
                std::size_t element_bytes) {
  const auto elements = checked_product(extents);
  const auto bytes = elements
                         ? checked_product(std::array{*elements, element_bytes})
                         : std::nullopt;
  return Error::no_memory_for(
      bytes.value_or(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace headwise::inline HEADWISE_ABI::detail
