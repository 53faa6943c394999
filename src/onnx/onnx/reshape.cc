// Operators that give the same elements other axes: Identity, Dropout,
// Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile.
#include "onnx/reshape.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "headwise/base/checked_product.h"
#include "onnx/axis_lists.h"
#include "onnx/broadcast.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {

std::optional<std::vector<std::size_t>> reshaped(
    std::span<const std::size_t> from, std::span<const std::int64_t> wanted,
    bool keep_zero) {
  std::vector<std::size_t> shape;
  std::optional<std::size_t> inferred;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    const std::int64_t extent = wanted[axis];
    if (extent < -1 || (extent == -1 && inferred) ||
        (extent == 0 && !keep_zero && axis >= from.size())) {
      return std::nullopt;
    }
    if (extent == -1) {
      inferred = axis;
    }
    shape.push_back(extent == -1 ? 1
                    : extent == 0 && !keep_zero
                        ? from[axis]
                        : static_cast<std::size_t>(extent));
  }
  const auto known = checked_product(shape);
  const std::size_t count = element_count(from);
  if (!known ||
      (inferred ? *known == 0 || count % *known != 0 : *known != count)) {
    return std::nullopt;
  }
  if (inferred) {
    shape[*inferred] = count / *known;
  }
  return shape;
}

std::optional<std::vector<std::size_t>> flattened(
    std::span<const std::size_t> from, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank) {
    return std::nullopt;
  }
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return std::vector{element_count(from.first(split)),
                     element_count(from.subspan(split))};
}

namespace {

Result<Outputs> run_identity(const NodeCall& node) {
  return one(copy_of(node.in(0), node.in(0).shape));
}

// Drops nothing: only training does.
Result<Outputs> run_dropout(const NodeCall& node) {
  HEADWISE_TRY(check_floating(node, 0));
  if (node.has(2)) {
    HEADWISE_TRY(check_type(node, 2, DType::boolean));
    const auto training = integers_of(node.in(2));
    if (std::ranges::find(training, 0) == training.end()) {
      return node.input(2).error(
          ErrorCode::unsupported, "is not false",
          "false, because dropout in training is random");
    }
  }
  auto outputs = run_identity(node);
  if (outputs && node.wants(1)) {
    HEADWISE_ASSIGN(auto kept, array_of(node.in(0).shape, DType::boolean));
    std::ranges::fill(kept.data, std::byte{1});
    outputs->push_back(std::move(kept));
  }
  return outputs;
}

Result<Outputs> run_transpose(const NodeCall& node) {
  const Array& x = node.in(0);
  const std::size_t rank = x.shape.size();
  HEADWISE_ASSIGN(const auto given, node.integers("perm"));
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (given) {
    std::vector<std::int64_t> sorted = *given;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> all(rank);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    if (sorted != all) {
      return node.attribute("perm").bad_data(
          "is not an order of the axes",
          message("each of 0 to {} - 1 once", rank));
    }
    std::ranges::transform(*given, order.begin(), [](std::int64_t axis) {
      return static_cast<std::size_t>(axis);
    });
  }
  return one(permuted(x, order));
}

Result<Outputs> run_reshape(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto wanted, list_input(node, 1));
  HEADWISE_ASSIGN(const auto keep_zero, node.flag("allowzero"));
  HEADWISE_TRY(check_axis_count(node, wanted.size()));
  auto shape = reshaped(x.shape, wanted, keep_zero);
  if (!shape) {
    std::string text;
    for (const std::int64_t extent : wanted) {
      text += (text.empty() ? "" : ", ") + std::to_string(extent);
    }
    return node.input(1).error(
        ErrorCode::shape_mismatch, message("is [{}]", text),
        message("a shape for the elements of {}", shape_text(x.shape)));
  }
  return one(copy_of(x, *std::move(shape)));
}

Result<Outputs> run_flatten(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto axis, node.integer("axis", 1));
  auto shape = flattened(x.shape, axis);
  if (!shape) {
    const auto rank = static_cast<std::int64_t>(x.shape.size());
    return node.attribute("axis").error(ErrorCode::out_of_range,
                                        message("is {}", axis),
                                        message("{} to {}", -rank, rank));
  }
  return one(copy_of(x, *std::move(shape)));
}

Result<Outputs> run_squeeze(const NodeCall& node) {
  const Array& x = node.in(0);
  std::vector<std::size_t> axes;
  if (node.has(1)) {
    HEADWISE_ASSIGN(const auto given, list_input(node, 1));
    HEADWISE_ASSIGN(axes,
                    distinct_axes(node, node.input(1), given, x.shape.size()));
  } else {
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
      if (x.shape[axis] == 1) {
        axes.push_back(axis);
      }
    }
  }
  std::vector<std::size_t> shape;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) {
      shape.push_back(x.shape[axis]);
    } else if (x.shape[axis] != 1) {
      return node.wrong_shape(0, message("1 element along axis {}", axis));
    }
  }
  return one(copy_of(x, shape));
}

Result<Outputs> run_unsqueeze(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto given, list_input(node, 1));
  const std::size_t rank = x.shape.size() + given.size();
  HEADWISE_TRY(check_axis_count(node, rank));
  HEADWISE_ASSIGN(const auto axes,
                  distinct_axes(node, node.input(1), given, rank));
  std::vector<std::size_t> shape = x.shape;
  for (const std::size_t axis : axes) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
  return one(copy_of(x, shape));
}

Result<Outputs> run_tile(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto repeats, list_input(node, 1));
  if (repeats.size() != x.shape.size()) {
    return node.wrong_shape(1, message("{} elements", x.shape.size()));
  }
  // Each axis behind one that repeats it.
  const auto own = strides_of(x.shape);
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (repeats[axis] < 0) {
      return node.input(1).bad_data(message("has {}", repeats[axis]),
                                    "at least 0");
    }
    shape.push_back(static_cast<std::size_t>(repeats[axis]));
    strides.push_back(0);
    shape.push_back(x.shape[axis]);
    strides.push_back(own[axis]);
  }
  HEADWISE_ASSIGN(auto tiled, gathered(x, shape, strides));
  tiled.shape.clear();
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    tiled.shape.push_back(shape[2 * axis] * shape[2 * axis + 1]);
  }
  return one(std::move(tiled));
}

Result<Outputs> run_expand(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto wanted, list_input(node, 1));
  const std::size_t rank = std::max(wanted.size(), x.shape.size());
  HEADWISE_TRY(check_axis_count(node, rank));
  std::vector<std::size_t> shape(rank, 1);
  std::ranges::copy(x.shape,
                    shape.end() - static_cast<std::ptrdiff_t>(x.shape.size()));
  for (std::size_t i = 1; i <= wanted.size(); ++i) {
    const std::int64_t extent = wanted[wanted.size() - i];
    std::size_t& own = shape[rank - i];
    if (extent < 0 ||
        (own != 1 && extent != 1 && own != static_cast<std::size_t>(extent))) {
      return node.wrong_shape(
          0, message("1 or {} elements along axis {}", extent, rank - i));
    }
    own = own == 1 ? static_cast<std::size_t>(extent) : own;
  }
  return one(gathered(x, shape, broadcast_strides(x.shape, shape)));
}

}  // namespace

std::vector<OnnxOperator> reshape_operators() {
  return {
      {"Dropout", 13, 1, 3, 2, {"seed"}, run_dropout},
      {"Expand", 13, 2, 2, 1, {}, run_expand},
      {"Flatten", 13, 1, 1, 1, {"axis"}, run_flatten},
      {"Identity", 13, 1, 1, 1, {}, run_identity},
      {"Reshape", 13, 2, 2, 1, {"allowzero"}, run_reshape},
      {"Squeeze", 13, 1, 2, 1, {}, run_squeeze},
      {"Tile", 13, 2, 2, 1, {}, run_tile},
      {"Transpose", 13, 1, 1, 1, {"perm"}, run_transpose},
      {"Unsqueeze", 13, 2, 2, 1, {}, run_unsqueeze},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
