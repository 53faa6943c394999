// Operators that take tensors apart and join them: Split, Concat, Slice,
// Gather.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "onnx/axis_lists.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Outputs> run_concat(const NodeCall& node) {
  if (node.find("axis") == nullptr) {
    return node.attribute("axis").bad_data("is left out", "an axis");
  }
  HEADWISE_ASSIGN(const auto axis,
                  node.axis("axis", 0, node.in(0).shape.size()));
  std::vector<std::size_t> shape = node.in(0).shape;
  shape[axis] = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    HEADWISE_TRY(check_each(node, i));
    const Array& each = node.in(i);
    std::vector<std::size_t> expected = node.in(0).shape;
    if (each.shape.size() == expected.size()) {
      expected[axis] = each.shape[axis];
    }
    HEADWISE_TRY(check_shape_of(node, i, expected));
    shape[axis] += each.shape[axis];
  }
  HEADWISE_ASSIGN(auto result, array_of(shape, node.in(0).dtype));
  const auto strides = strides_of(shape);
  std::size_t first = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    scatter(node.in(i), result, strides, first * strides[axis]);
    first += node.in(i).shape[axis];
  }
  return one(std::move(result));
}

// How long the parts of a split axis are.
Result<std::vector<std::size_t>> split_lengths(const NodeCall& node,
                                               std::size_t extent) {
  const std::size_t parts = node.output_count();
  const bool counted = node.find("num_outputs") != nullptr;
  // Before opset 18 equal parts need no attribute.
  if (node.opset() >= 18 && counted == node.has(1)) {
    return node.attribute("num_outputs")
        .bad_data(counted ? "is given next to lengths" : "is left out",
                  "num_outputs or lengths");
  }
  std::vector<std::size_t> lengths;
  if (node.has(1)) {
    HEADWISE_ASSIGN(const auto given, list_input(node, 1));
    std::size_t sum = 0;
    for (const std::int64_t length : given) {
      if (length < 0 || static_cast<std::size_t>(length) > extent - sum ||
          lengths.size() == parts) {
        break;  // the sum or the number is wrong
      }
      lengths.push_back(static_cast<std::size_t>(length));
      sum += lengths.back();
    }
    if (lengths.size() != given.size() || sum != extent ||
        lengths.size() != parts) {
      return node.input(1).bad_data(
          message("does not divide {} elements among {} outputs", extent,
                  parts),
          "one length for each output");
    }
    return lengths;
  }
  HEADWISE_ASSIGN(
      const auto count,
      node.integer("num_outputs", static_cast<std::int64_t>(parts)));
  if (count != static_cast<std::int64_t>(parts)) {
    return node.attribute("num_outputs")
        .bad_data(message("is {}", count),
                  message("{}, the number of outputs", parts));
  }
  const std::size_t length = parts == 0 ? 0 : (extent + parts - 1) / parts;
  if (!counted && length * parts != extent) {
    return node.wrong_shape(
        0, message("an axis of equal parts for {} outputs", parts));
  }
  for (std::size_t part = 0, done = 0; part < parts; ++part) {
    lengths.push_back(std::min(length, extent - done));
    done += lengths.back();
  }
  return lengths;
}

Result<Outputs> run_split(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", 0, x.shape.size()));
  HEADWISE_ASSIGN(const auto lengths, split_lengths(node, x.shape[axis]));
  const auto strides = strides_of(x.shape);
  Outputs outputs;
  std::size_t first = 0;
  for (const std::size_t length : lengths) {
    std::vector<std::size_t> shape = x.shape;
    shape[axis] = length;
    HEADWISE_ASSIGN(auto part,
                    gathered(x, shape, strides, first * strides[axis]));
    outputs.push_back(std::move(part));
    first += length;
  }
  return outputs;
}

Result<Outputs> run_gather(const NodeCall& node) {
  const Array& x = node.in(0);
  const Array& indices = node.in(1);
  if (indices.dtype != DType::int64 && indices.dtype != DType::int32) {
    return wrong_type(node, 1, "int64");
  }
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", 0, x.shape.size()));
  HEADWISE_TRY(
      check_axis_count(node, x.shape.size() + indices.shape.size() - 1));
  const auto split = static_cast<std::ptrdiff_t>(axis);
  std::vector<std::size_t> shape(x.shape.begin(), x.shape.begin() + split);
  const std::size_t before = element_count(shape);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  const std::vector<std::size_t> behind(x.shape.begin() + split + 1,
                                        x.shape.end());
  shape.insert(shape.end(), behind.begin(), behind.end());
  const std::size_t row = element_count(behind) * size_of(x.dtype);
  HEADWISE_ASSIGN(auto result, array_of(shape, x.dtype));
  const std::vector<std::int64_t> rows = integers_of(indices);
  std::byte* out = result.data.data();
  for (std::size_t i = 0; i < before; ++i) {
    for (const std::int64_t each : rows) {
      HEADWISE_ASSIGN(const auto from,
                      place_of_index(node, 1, each, x.shape[axis]));
      if (row > 0) {
        std::memcpy(out, x.data.data() + (i * x.shape[axis] + from) * row, row);
        out += row;
      }
    }
  }
  return one(std::move(result));
}

// A range of one axis, as Slice gives it.
struct AxisRange {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::size_t count = 0;
};

AxisRange range_of_axis(std::int64_t start, std::int64_t end, std::int64_t step,
                        std::int64_t extent) {
  // Backwards the last element that can be named is one before the first.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  const auto within = [&](std::int64_t index) {
    return std::clamp(index < 0 ? std::max(index, -extent - 1) + extent : index,
                      low, high);
  };
  const std::int64_t from = within(start);
  const std::int64_t to = within(end);
  const std::int64_t distance = step > 0 ? to - from : from - to;
  const std::int64_t width = std::max<std::int64_t>(
      1, step > 0 ? std::min(step, extent) : std::min(-(step + 1), extent) + 1);
  return {
      from, step > 0 ? width : -width,
      distance <= 0 ? 0 : static_cast<std::size_t>((distance - 1) / width + 1)};
}

Result<Outputs> run_slice(const NodeCall& node) {
  const Array& x = node.in(0);
  std::array<std::vector<std::int64_t>, 4> lists;  // starts, ends, axes, steps
  for (std::size_t i = 0; i < 4; ++i) {
    if (node.has(i + 1)) {
      HEADWISE_ASSIGN(lists[i], list_input(node, i + 1));
    }
  }
  auto& [starts, ends, axes, steps] = lists;
  NodeMemory::use(2 * starts.size() * sizeof(std::int64_t));
  if (!node.has(3)) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  steps.resize(node.has(4) ? steps.size() : starts.size(), 1);
  for (std::size_t i = 0; i < 4; ++i) {
    if (lists[i].size() != starts.size()) {
      return node.wrong_shape(i + 1, shape_text(node.in(1).shape));
    }
  }
  HEADWISE_TRY(distinct_axes(node, node.input(node.has(3) ? 3 : 1), axes,
                             x.shape.size()));
  std::vector<std::size_t> shape = x.shape;
  std::vector<std::int64_t> first(x.shape.size(), 0);
  std::vector<std::int64_t> step(x.shape.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    HEADWISE_ASSIGN(const auto axis,
                    node.axis_of(axes[i], x.shape.size(), node.input(1)));
    if (steps[i] == 0) {
      return node.input(4).bad_data("has a 0", "steps other than 0");
    }
    const AxisRange range = range_of_axis(
        starts[i], ends[i], steps[i], static_cast<std::int64_t>(x.shape[axis]));
    shape[axis] = range.count;
    first[axis] = range.start;
    step[axis] = range.step;
  }
  // Strides may be negative here; modulo 2^64 the offsets are right.
  auto strides = strides_of(x.shape);
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset += static_cast<std::size_t>(first[axis]) * strides[axis];
    strides[axis] *= static_cast<std::size_t>(step[axis]);
  }
  return one(gathered(x, shape, strides, offset));
}

}  // namespace

std::vector<OnnxOperator> slices_operators() {
  return {
      {"Concat", 13, 1, kAnyNumber, 1, {"axis"}, run_concat},
      {"Gather", 13, 2, 2, 1, {"axis"}, run_gather},
      {"Slice", 13, 3, 5, 1, {}, run_slice},
      {"Split", 13, 1, 2, kAnyNumber, {"axis", "num_outputs"}, run_split},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
