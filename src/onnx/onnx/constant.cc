// Operators that make tensors of shapes and constants: Shape, Size, Constant,
// ConstantOfShape.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "onnx/axis_lists.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Outputs> run_shape(const NodeCall& node) {
  const auto rank = static_cast<std::int64_t>(node.in(0).shape.size());
  HEADWISE_ASSIGN(const auto start, node.integer("start", 0));
  HEADWISE_ASSIGN(const auto end, node.integer("end", rank));
  const auto within = [rank](std::int64_t axis) {
    return std::clamp(axis < 0 ? axis + rank : axis, std::int64_t{0}, rank);
  };
  std::vector<std::int64_t> extents;
  for (std::int64_t axis = within(start); axis < within(end); ++axis) {
    extents.push_back(static_cast<std::int64_t>(
        node.in(0).shape[static_cast<std::size_t>(axis)]));
  }
  return one(array_from(extents, {extents.size()}, DType::int64));
}

Result<Outputs> run_size(const NodeCall& node) {
  const auto count = static_cast<std::int64_t>(element_count(node.in(0).shape));
  return one(array_from(std::vector{count}, {}, DType::int64));
}

Result<Outputs> run_constant(const NodeCall& node) {
  if (const auto* array = node.find_as<Array>("value")) {
    return one(copy_of(*array, array->shape));
  }
  if (const auto* number = node.find_as<std::int64_t>("value_int")) {
    return one(array_from(std::vector{*number}, {}, DType::int64));
  }
  if (const auto* number = node.find_as<float>("value_float")) {
    return one(array_from(std::vector<double>{*number}, {}, DType::float32));
  }
  if (const auto* list =
          node.find_as<std::vector<std::int64_t>>("value_ints")) {
    return one(array_from(*list, {list->size()}, DType::int64));
  }
  if (const auto* list = node.find_as<std::vector<float>>("value_floats")) {
    return one(array_from(std::vector<double>(list->begin(), list->end()),
                          {list->size()}, DType::float32));
  }
  return node.subject().bad_data("has no value", "a tensor or numbers");
}

Result<Outputs> run_constant_of_shape(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto extents, list_input(node, 0));
  HEADWISE_TRY(check_axis_count(node, extents.size()));
  std::vector<std::size_t> shape;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      return node.input(0).error(ErrorCode::out_of_range,
                                 message("has {}", extent),
                                 "nonnegative extents");
    }
    shape.push_back(static_cast<std::size_t>(extent));
  }
  HEADWISE_ASSIGN(const auto zero,
                  array_from(std::vector<double>{0}, {}, DType::float32));
  const Array* value = &zero;
  if (node.find("value") != nullptr) {
    value = node.find_as<Array>("value");
    if (value == nullptr || element_count(value->shape) != 1) {
      return node.attribute("value").bad_data("is of another kind",
                                              "a tensor of 1 element");
    }
  }
  return one(gathered(*value, shape, std::vector<std::size_t>(shape.size())));
}

}  // namespace

std::vector<OnnxOperator> constant_operators() {
  return {
      {"Constant",
       13,
       0,
       0,
       1,
       {"value", "value_float", "value_floats", "value_int", "value_ints"},
       run_constant},
      {"ConstantOfShape", 13, 1, 1, 1, {"value"}, run_constant_of_shape},
      {"Shape", 13, 1, 1, 1, {"end", "start"}, run_shape},
      {"Size", 13, 1, 1, 1, {}, run_size},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
