// Pad: adds or removes elements at the ends of axes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "onnx/axis_lists.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

enum class PadMode : std::uint8_t { constant, edge, reflect, wrap };

Result<PadMode> mode_of(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto mode, node.text("mode", "constant"));
  if (mode == "constant") {
    return PadMode::constant;
  }
  if (mode == "edge") {
    return PadMode::edge;
  }
  if (mode == "reflect") {
    return PadMode::reflect;
  }
  if (mode == "wrap" && node.opset() >= 19) {
    return PadMode::wrap;
  }
  return node.attribute("mode").bad_data(message("is {}", shown(mode)),
                                         node.opset() >= 19
                                             ? "constant, edge, reflect or wrap"
                                             : "constant, edge or reflect");
}

// An axis of the result: `before` new elements, then `extent` elements of the
// input from `first` on, then new ones.
struct PaddedAxis {
  std::size_t first = 0;
  std::size_t extent = 0;
  std::size_t before = 0;

  // Where the element at an index of the result comes from, nothing for a
  // constant.
  std::optional<std::size_t> source(std::size_t index, PadMode mode) const {
    if (index >= before && index - before < extent) {
      return first + index - before;
    }
    const std::size_t beyond =
        index < before ? before - index : index - before - extent + 1;
    switch (mode) {
      case PadMode::constant:
        return {};
      case PadMode::edge:
        return first + (index < before ? 0 : extent - 1);
      case PadMode::wrap: {
        const std::size_t turn = (beyond - 1) % extent;
        return first + (index < before ? extent - 1 - turn : turn);
      }
      case PadMode::reflect:
        break;
    }
    // There and back without the ends twice: after 2 (extent - 1) elements it
    // repeats.
    const std::size_t period = std::max<std::size_t>(1, 2 * (extent - 1));
    const std::size_t turn = beyond % period;
    const std::size_t inwards = turn < extent ? turn : period - turn;
    return first + (index < before ? inwards : extent - 1 - inwards);
  }
};

// The elements that an axis loses or gets at one end.
struct Ends {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};

// At most 2^62, so that sums do not wrap; no tensor is that long.
std::size_t gained(std::int64_t pad) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(pad, 0, kMost));
}
std::size_t lost(std::int64_t pad) {
  return pad < 0 ? std::size_t{0} - static_cast<std::size_t>(pad) : 0;
}

Result<std::vector<Ends>> ends_of(const NodeCall& node) {
  const std::size_t rank = node.in(0).shape.size();
  HEADWISE_ASSIGN(const auto pads, list_input(node, 1));
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  if (node.has(3)) {
    if (node.opset() < 18) {
      return node.input(3).bad_data(
          message("is given in opset {}", node.opset()), opsets_since(18));
    }
    HEADWISE_ASSIGN(auto given, list_input(node, 3));
    HEADWISE_TRY(distinct_axes(node, node.input(3), given, rank));
    axes = std::move(given);
  }
  if (pads.size() != 2 * axes.size()) {
    return node.wrong_shape(
        1, shape_text(std::vector<std::size_t>{2 * axes.size()}));
  }
  std::vector<Ends> ends(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    HEADWISE_ASSIGN(const auto axis,
                    node.axis_of(axes[i], rank, node.input(1)));
    ends[axis] = {pads[i], pads[axes.size() + i]};
  }
  return ends;
}

// The bytes of one fill element; zeros if the input is missing.
Result<std::vector<std::byte>> fill_of(const NodeCall& node) {
  const std::size_t item = size_of(node.in(0).dtype);
  if (!node.has(2)) {
    return std::vector<std::byte>(item);
  }
  HEADWISE_TRY(check_same_type(node, 2));
  HEADWISE_TRY(check_one_element(node, 2));
  const std::byte* const data = node.in(2).data.data();
  return std::vector<std::byte>(data, data + item);
}

Error wrong_pads(const NodeCall& node, const Ends& ends, std::size_t axis) {
  return node.input(1).error(
      ErrorCode::out_of_range,
      message("has {} and {} for axis {}", ends.before, ends.behind, axis),
      message("padding that an axis of {} elements allows",
              node.in(0).shape[axis]));
}

}  // namespace

Result<Outputs> run_pad(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto mode, mode_of(node));
  HEADWISE_ASSIGN(const auto ends, ends_of(node));
  HEADWISE_ASSIGN(const auto fill, fill_of(node));
  std::vector<PaddedAxis> axes;
  std::vector<std::size_t> shape;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const auto [before, behind] = ends[axis];
    if (lost(before) > x.shape[axis] ||
        lost(behind) > x.shape[axis] - lost(before)) {
      return wrong_pads(node, ends[axis], axis);
    }
    const std::size_t extent = x.shape[axis] - lost(before) - lost(behind);
    axes.push_back({lost(before), extent, gained(before)});
    shape.push_back(extent + gained(before) + gained(behind));
    if (mode != PadMode::constant && extent == 0 && shape.back() > 0) {
      return wrong_pads(node, ends[axis], axis);
    }
  }
  HEADWISE_ASSIGN(auto result, array_of(shape, x.dtype));
  const auto strides = strides_of(x.shape);
  const std::size_t item = fill.size();
  std::byte* out = result.data.data();
  for (Odometer at(shape); !at.done(); at.next(), out += item) {
    std::size_t offset = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto from = axes[axis].source(at.index(axis), mode);
      inside = inside && from;
      offset += from.value_or(0) * strides[axis];
    }
    std::memcpy(out, inside ? x.data.data() + offset * item : fill.data(),
                item);
  }
  return one(std::move(result));
}

}  // namespace headwise::inline HEADWISE_ABI
