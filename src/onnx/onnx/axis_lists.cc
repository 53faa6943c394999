#include "onnx/axis_lists.h"

#include <algorithm>
#include <string>

#include "onnx/numbers.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {

Result<std::vector<std::int64_t>> list_input(const NodeCall& node,
                                             std::size_t input) {
  const Array& list = node.in(input);
  if (list.dtype != DType::int64 && list.dtype != DType::int32) {
    return wrong_type(node, input, "int64");
  }
  if (list.shape.size() > 1) {
    return node.wrong_shape(input, "1 axis");
  }
  return integers_of(list);
}

Status check_axis_count(const NodeCall& node, std::size_t axes) {
  return axes <= kMostOnnxAxes ? ok()
                               : Status(node.subject().error(
                                     ErrorCode::unsupported,
                                     message("makes a tensor of {} axes", axes),
                                     "at most 8 axes"));
}

Result<std::vector<std::size_t>> distinct_axes(
    const NodeCall& node, const FileSubject& given_by,
    const std::vector<std::int64_t>& given, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t each : given) {
    HEADWISE_ASSIGN(const auto axis, node.axis_of(each, rank, given_by));
    axes.push_back(axis);
    if (axes.size() > rank) {
      break;  // one of them is there twice
    }
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) {
    return given_by.bad_data("names an axis twice", "distinct axes");
  }
  return axes;
}

}  // namespace headwise::inline HEADWISE_ABI
