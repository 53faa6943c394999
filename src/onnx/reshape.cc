// Operators that give the same elements other axes: Identity, Transpose,
// Reshape, Flatten, Squeeze, Unsqueeze, Expand.
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

Result<Outputs> run_identity(const NodeCall& node) {
  return one(copy_of(node.in(0), node.in(0).shape));
}

Result<Outputs> run_transpose(const NodeCall& node) {
  const Array& x = node.in(0);
  const std::size_t rank = x.shape.size();
  const auto given = node.integers("perm");
  HEADWISE_TRY(given);
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (*given) {
    std::vector<std::int64_t> sorted = **given;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> all(rank);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    if (sorted != all) {
      return node.attribute("perm").bad_data(
          "is not an order of the axes",
          "each of 0 to " + std::to_string(rank) + " - 1 once");
    }
    std::ranges::transform(**given, order.begin(), [](std::int64_t axis) {
      return static_cast<std::size_t>(axis);
    });
  }
  const auto own = strides_of(x.shape);
  std::vector<std::size_t> shape(rank);
  std::vector<std::size_t> strides(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] = x.shape[order[axis]];
    strides[axis] = own[order[axis]];
  }
  return one(gathered(x, shape, strides));
}

Result<Outputs> run_reshape(const NodeCall& node) {
  const Array& x = node.in(0);
  const auto wanted = list_input(node, 1);
  HEADWISE_TRY(wanted);
  const auto keep_zero = node.flag("allowzero");
  HEADWISE_TRY(keep_zero);
  HEADWISE_TRY(check_axis_count(node, wanted->size()));
  const auto refuse = [&] {
    std::string text;
    for (const std::int64_t extent : *wanted) {
      text += (text.empty() ? "" : ", ") + std::to_string(extent);
    }
    return node.input(1).error(
        ErrorCode::shape_mismatch, "is [" + text + "]",
        "a shape for the elements of " + shape_text(x.shape));
  };
  std::vector<std::size_t> shape;
  std::optional<std::size_t> inferred;
  for (std::size_t axis = 0; axis < wanted->size(); ++axis) {
    const std::int64_t extent = (*wanted)[axis];
    if (extent < -1 || (extent == -1 && inferred) ||
        (extent == 0 && !*keep_zero && axis >= x.shape.size())) {
      return refuse();
    }
    if (extent == -1) {
      inferred = axis;
    }
    shape.push_back(extent == -1 ? 1
                    : extent == 0 && !*keep_zero
                        ? x.shape[axis]
                        : static_cast<std::size_t>(extent));
  }
  const auto product = checked_product(shape);
  if (!product) {
    return refuse();
  }
  const std::size_t known = *product;
  const std::size_t count = element_count(x.shape);
  if (inferred) {
    if (known == 0 || count % known != 0) {
      return refuse();
    }
    shape[*inferred] = count / known;
  } else if (known != count) {
    return refuse();
  }
  return one(copy_of(x, shape));
}

Result<Outputs> run_flatten(const NodeCall& node) {
  const Array& x = node.in(0);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const auto axis = node.integer("axis", 1);
  HEADWISE_TRY(axis);
  if (*axis < -rank || *axis > rank) {
    return node.attribute("axis").error(
        ErrorCode::out_of_range, "is " + std::to_string(*axis),
        std::to_string(-rank) + " to " + std::to_string(rank));
  }
  const auto split = static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
  const std::span shape(x.shape);
  return one(copy_of(x, {element_count(shape.first(split)),
                         element_count(shape.subspan(split))}));
}

Result<Outputs> run_squeeze(const NodeCall& node) {
  const Array& x = node.in(0);
  std::vector<std::size_t> axes;
  if (node.has(1)) {
    const auto given = list_input(node, 1);
    HEADWISE_TRY(given);
    const auto found =
        distinct_axes(node, node.input(1), *given, x.shape.size());
    HEADWISE_TRY(found);
    axes = *found;
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
      return node.wrong_shape(0,
                              "1 element along axis " + std::to_string(axis));
    }
  }
  return one(copy_of(x, shape));
}

Result<Outputs> run_unsqueeze(const NodeCall& node) {
  const Array& x = node.in(0);
  const auto given = list_input(node, 1);
  HEADWISE_TRY(given);
  const std::size_t rank = x.shape.size() + given->size();
  HEADWISE_TRY(check_axis_count(node, rank));
  const auto axes = distinct_axes(node, node.input(1), *given, rank);
  HEADWISE_TRY(axes);
  std::vector<std::size_t> shape = x.shape;
  for (const std::size_t axis : *axes) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
  return one(copy_of(x, shape));
}

Result<Outputs> run_expand(const NodeCall& node) {
  const Array& x = node.in(0);
  const auto wanted = list_input(node, 1);
  HEADWISE_TRY(wanted);
  const std::size_t rank = std::max(wanted->size(), x.shape.size());
  HEADWISE_TRY(check_axis_count(node, rank));
  std::vector<std::size_t> shape(rank, 1);
  std::ranges::copy(x.shape,
                    shape.end() - static_cast<std::ptrdiff_t>(x.shape.size()));
  for (std::size_t i = 1; i <= wanted->size(); ++i) {
    const std::int64_t extent = (*wanted)[wanted->size() - i];
    std::size_t& own = shape[rank - i];
    if (extent < 0 ||
        (own != 1 && extent != 1 && own != static_cast<std::size_t>(extent))) {
      return node.wrong_shape(0, "1 or " + std::to_string(extent) +
                                     " elements along axis " +
                                     std::to_string(rank - i));
    }
    own = own == 1 ? static_cast<std::size_t>(extent) : own;
  }
  return one(gathered(x, shape, broadcast_strides(x.shape, shape)));
}

}  // namespace headwise::inline HEADWISE_ABI
