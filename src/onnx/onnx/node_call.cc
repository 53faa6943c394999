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

Error NodeCall::wrong_shape(std::size_t i, Message expected) const {
  return input(i).error(ErrorCode::shape_mismatch,
                        message("has shape {}", shape_text(in(i).shape)),
                        std::move(expected));
}

const OnnxAttribute* find_attribute(const OnnxNode& node,
                                    std::string_view name) {
  const auto found =
      std::ranges::find(node.attributes, name, &OnnxAttribute::name);
  return found == node.attributes.end() ? nullptr : &*found;
}

template <class T>
Result<const T*> NodeCall::held(std::string_view name,
                                const char* expected) const {
  const T* value = find_as<T>(name);
  if (value == nullptr && find(name) != nullptr) {
    return attribute(name).bad_data("is of another kind", expected);
  }
  return value;
}

Result<std::int64_t> NodeCall::integer(std::string_view name,
                                       std::int64_t otherwise) const {
  HEADWISE_ASSIGN(const auto value, held<std::int64_t>(name, "a whole number"));
  return value == nullptr ? otherwise : *value;
}

Result<bool> NodeCall::flag(std::string_view name, bool otherwise) const {
  HEADWISE_ASSIGN(const auto number, integer(name, otherwise ? 1 : 0));
  if (number != 0 && number != 1) {
    return attribute(name).bad_data(message("is {}", number), "0 or 1");
  }
  return number == 1;
}

Result<std::optional<double>> NodeCall::number(std::string_view name) const {
  HEADWISE_ASSIGN(const auto value, held<float>(name, "a number"));
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

Result<std::string> NodeCall::text(std::string_view name,
                                   std::string_view otherwise) const {
  HEADWISE_ASSIGN(const auto value, held<std::string>(name, "text"));
  return value == nullptr ? std::string(otherwise) : *value;
}

Result<std::optional<std::vector<std::int64_t>>> NodeCall::integers(
    std::string_view name) const {
  HEADWISE_ASSIGN(const auto value, held<std::vector<std::int64_t>>(
                                        name, "a list of whole numbers"));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Result<std::size_t> NodeCall::axis_of(std::int64_t given, std::size_t rank,
                                      const FileSubject& about) const {
  const auto axes = static_cast<std::int64_t>(rank);
  if (given < -axes || given >= axes) {
    return about.bad_data(message("is {}", given),
                          message("{} to {}", -axes, axes - 1));
  }
  return static_cast<std::size_t>(given < 0 ? given + axes : given);
}

Result<std::size_t> NodeCall::axis(std::string_view name,
                                   std::int64_t otherwise,
                                   std::size_t rank) const {
  HEADWISE_ASSIGN(const auto given, integer(name, otherwise));
  return axis_of(given, rank, attribute(name));
}

Error wrong_type(const NodeCall& node, std::size_t input, Message expected) {
  return node.input(input).error(
      ErrorCode::invalid_argument,
      message("holds {} elements", name_of(node.in(input).dtype)),
      std::move(expected));
}

Status check_floating(const NodeCall& node, std::size_t input) {
  return is_floating(node.in(input).dtype)
             ? ok()
             : Status(wrong_type(node, input, "floating-point numbers"));
}

Status check_numbers(const NodeCall& node, std::size_t input) {
  return node.in(input).dtype != DType::boolean
             ? ok()
             : Status(wrong_type(node, input, "numbers"));
}

Status check_type(const NodeCall& node, std::size_t input, DType dtype) {
  return node.in(input).dtype == dtype
             ? ok()
             : Status(wrong_type(node, input, std::string(name_of(dtype))));
}

Status check_same_type(const NodeCall& node, std::size_t input) {
  return check_type(node, input, node.in(0).dtype);
}

Status check_each(const NodeCall& node, std::size_t input) {
  if (!node.has(input)) {
    return node.subject().bad_data(message("has no input {}", input),
                                   message("{} inputs", node.input_count()));
  }
  return check_same_type(node, input);
}

Status check_together(const NodeCall& node, std::size_t a, std::size_t b,
                      const char* both) {
  return node.has(a) == node.has(b)
             ? ok()
             : Status(node.input(node.has(a) ? a : b)
                          .error(ErrorCode::invalid_argument, "is given alone",
                                 both));
}

Status check_axes(const NodeCall& node, std::size_t input, std::size_t rank) {
  return node.in(input).shape.size() == rank
             ? ok()
             : Status(node.wrong_shape(input, message("{} axes", rank)));
}

Status check_shape_of(const NodeCall& node, std::size_t input,
                      const std::vector<std::size_t>& expected) {
  return node.in(input).shape == expected
             ? ok()
             : Status(node.wrong_shape(input, shape_text(expected)));
}

Status check_one_element(const NodeCall& node, std::size_t input) {
  return element_count(node.in(input).shape) == 1
             ? ok()
             : Status(node.wrong_shape(input, "1 element"));
}

Result<std::size_t> place_of_index(const NodeCall& node, std::size_t input,
                                   std::int64_t index, std::size_t extent) {
  const auto most = static_cast<std::int64_t>(extent);
  if (index < -most || index >= most) {
    return node.input(input).error(ErrorCode::out_of_range,
                                   message("has {}", index),
                                   message("{} to {}", -most, most - 1));
  }
  return static_cast<std::size_t>(index < 0 ? index + most : index);
}

}  // namespace headwise::inline HEADWISE_ABI
