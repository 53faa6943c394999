#include "onnx/node_call.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "onnx/numbers.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {

FileSubject NodeCall::input(std::size_t i) const {
  return subject().of_entry(input_name(i));
}

std::string NodeCall::input_name(std::size_t i) const {
  return shown(node_.inputs[i]);
}

Error NodeCall::wrong_shape(std::size_t i, std::string expected) const {
  return input(i).error(ErrorCode::shape_mismatch,
                        "has shape " + shape_text(in(i).shape),
                        std::move(expected));
}

const OnnxAttribute* find_attribute(const OnnxNode& node,
                                    std::string_view name) {
  const auto found =
      std::ranges::find(node.attributes, name, &OnnxAttribute::name);
  return found == node.attributes.end() ? nullptr : &*found;
}

const OnnxAttribute* NodeCall::find(std::string_view name) const {
  return find_attribute(node_, name);
}

Result<std::int64_t> NodeCall::integer(std::string_view name,
                                       std::int64_t otherwise) const {
  const OnnxAttribute* found = find(name);
  if (found == nullptr) {
    return otherwise;
  }
  if (const auto* number = std::get_if<std::int64_t>(&found->value)) {
    return *number;
  }
  return attribute(name).bad_data("is of another kind", "a whole number");
}

Result<bool> NodeCall::flag(std::string_view name) const {
  const auto number = integer(name, 0);
  HEADWISE_TRY(number);
  if (*number != 0 && *number != 1) {
    return attribute(name).bad_data("is " + std::to_string(*number), "0 or 1");
  }
  return *number == 1;
}

Result<std::optional<double>> NodeCall::number(std::string_view name) const {
  const OnnxAttribute* found = find(name);
  if (found == nullptr) {
    return std::optional<double>();
  }
  if (const auto* value = std::get_if<float>(&found->value)) {
    return std::optional<double>(*value);
  }
  return attribute(name).bad_data("is of another kind", "a number");
}

Result<std::string> NodeCall::text(std::string_view name,
                                   std::string_view otherwise) const {
  const OnnxAttribute* found = find(name);
  if (found == nullptr) {
    return std::string(otherwise);
  }
  if (const auto* value = std::get_if<std::string>(&found->value)) {
    return *value;
  }
  return attribute(name).bad_data("is of another kind", "text");
}

Result<std::optional<std::vector<std::int64_t>>> NodeCall::integers(
    std::string_view name) const {
  const OnnxAttribute* found = find(name);
  if (found == nullptr) {
    return std::optional<std::vector<std::int64_t>>();
  }
  if (const auto* value =
          std::get_if<std::vector<std::int64_t>>(&found->value)) {
    return std::optional(*value);
  }
  return attribute(name).bad_data("is of another kind",
                                  "a list of whole numbers");
}

Result<std::size_t> NodeCall::axis_of(std::int64_t given, std::size_t rank,
                                      const FileSubject& about) const {
  const auto axes = static_cast<std::int64_t>(rank);
  if (given < -axes || given >= axes) {
    return about.bad_data(
        "is " + std::to_string(given),
        std::to_string(-axes) + " to " + std::to_string(axes - 1));
  }
  return static_cast<std::size_t>(given < 0 ? given + axes : given);
}

Result<std::size_t> NodeCall::axis(std::string_view name,
                                   std::int64_t otherwise,
                                   std::size_t rank) const {
  const auto given = integer(name, otherwise);
  HEADWISE_TRY(given);
  return axis_of(*given, rank, attribute(name));
}

Error wrong_type(const NodeCall& node, std::size_t input,
                 std::string expected) {
  return node.input(input).error(
      ErrorCode::invalid_argument,
      "holds " + std::string(name_of(node.in(input).dtype)) + " elements",
      std::move(expected));
}

Status check_floating(const NodeCall& node, std::size_t input) {
  return is_floating(node.in(input).dtype)
             ? ok()
             : Status(wrong_type(node, input, "floating-point numbers"));
}

Status check_same_type(const NodeCall& node, std::size_t input) {
  const DType dtype = node.in(0).dtype;
  return node.in(input).dtype == dtype
             ? ok()
             : Status(wrong_type(node, input, std::string(name_of(dtype))));
}

}  // namespace headwise::inline HEADWISE_ABI
