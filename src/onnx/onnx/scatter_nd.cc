// ScatterND: slices of a tensor, replaced where indices say.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The axes of a tuple of indices come last in `indices`; those that it leaves
// over are a slice of the data.
Status check_updates(const NodeCall& node) {
  const auto& data = node.in(0).shape;
  const auto& indices = node.in(1).shape;
  HEADWISE_TRY(check_type(node, 1, DType::int64));
  HEADWISE_TRY(check_same_type(node, 2));
  if (indices.empty() || indices.back() > data.size()) {
    return node.wrong_shape(1,
                            message("a last axis of at most {}", data.size()));
  }
  std::vector<std::size_t> expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(),
                  data.begin() + static_cast<std::ptrdiff_t>(indices.back()),
                  data.end());
  return check_shape_of(node, 2, expected);
}

}  // namespace

Result<Outputs> run_scatter_nd(const NodeCall& node) {
  const Array& data = node.in(0);
  HEADWISE_ASSIGN(const auto reduction, node.text("reduction", "none"));
  if (reduction != "none") {
    return node.attribute("reduction")
        .error(ErrorCode::unsupported, message("is {}", shown(reduction)),
               "none");
  }
  HEADWISE_TRY(check_updates(node));
  const std::size_t tuple = node.in(1).shape.back();
  const auto strides = strides_of(data.shape);
  const std::size_t slice =
      element_count(std::span(data.shape).subspan(tuple)) * size_of(data.dtype);
  HEADWISE_ASSIGN(auto result, copy_of(data, data.shape));
  const std::vector<std::int64_t> indices = integers_of(node.in(1));
  const std::size_t count = slice == 0 ? 0 : node.in(2).data.size() / slice;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < tuple; ++axis) {
      HEADWISE_ASSIGN(
          const auto index,
          place_of_index(node, 1, indices[n * tuple + axis], data.shape[axis]));
      place += index * strides[axis];
    }
    std::memcpy(result.data.data() + place * size_of(data.dtype),
                node.in(2).data.data() + n * slice, slice);
  }
  return one(std::move(result));
}

}  // namespace headwise::inline HEADWISE_ABI
