#include "onnx/attention_mask.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "base/check.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using MaskIn = AttentionInput;

// The elements of rows of `given` columns, which may be none, as rows of
// `wanted`.
template <class T>
std::vector<T> padded(const std::vector<T>& from, std::size_t rows,
                      std::size_t given, std::size_t wanted, T beyond) {
  auto result = NodeMemory::numbers<T>(rows * wanted);
  std::ranges::fill(result, beyond);
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * given), given,
                result.begin() + static_cast<std::ptrdiff_t>(row * wanted));
  }
  return result;
}

}  // namespace

Result<std::optional<OnnxAttentionMask>> OnnxAttentionMask::create(
    const NodeCall& node, const AttentionSizes& sizes) {
  if (!node.has(MaskIn::mask)) {
    return std::optional<OnnxAttentionMask>();
  }
  const Array& given = node.in(MaskIn::mask);
  const std::array<std::size_t, 4> scores{sizes.B, sizes.Hq, sizes.Lq,
                                          sizes.Lkv()};
  const Message expected = message(
      "axes that are broadcast to (B, Hq, Lq, Lkv) = {}", shape_text(scores));
  const std::size_t rank = given.shape.size();
  if (rank < 1 || rank > 4) {
    return node.wrong_shape(MaskIn::mask, expected);
  }
  OnnxAttentionMask mask;
  std::copy(given.shape.begin(), given.shape.end(),
            mask.extents.begin() + static_cast<std::ptrdiff_t>(4 - rank));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (mask.extents[axis] != 1 && mask.extents[axis] != scores[axis]) {
      return node.wrong_shape(MaskIn::mask, expected);
    }
  }
  const std::size_t columns = mask.extents[3];
  // Opset 23 does not say it yet, but its reference pads as well.
  const bool pads = columns < scores[3];
  if (columns > scores[3]) {
    return node.wrong_shape(MaskIn::mask, expected);
  }
  if (pads) {
    mask.extents[3] = scores[3];
  }
  const std::size_t rows = element_count(std::span(mask.extents).first(3));
  if (given.dtype == DType::boolean) {
    auto held = NodeMemory::numbers<std::uint8_t>(element_count(given.shape));
    std::ranges::transform(given.data, held.begin(), [](std::byte byte) {
      return static_cast<std::uint8_t>(byte);
    });
    mask.booleans = padded<std::uint8_t>(held, rows, columns, mask.extents[3],
                                         std::uint8_t{0});
  } else {
    mask.numbers =
        padded<double>(doubles_of(given), rows, columns, mask.extents[3],
                       -std::numeric_limits<double>::infinity());
  }
  return std::optional(std::move(mask));
}

std::size_t OnnxAttentionMask::offset(std::size_t b, std::size_t h,
                                      std::size_t i, std::size_t j) const {
  const std::array<std::size_t, 4> at{b, h, i, j};
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    offset = offset * extents[axis] + (extents[axis] == 1 ? 0 : at[axis]);
  }
  return offset;
}

NamedAxes OnnxAttentionMask::axes() const {
  constexpr std::array<Axis, 4> kScores{Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
  std::array<std::ptrdiff_t, 4> strides{};
  std::array<Axis, 4> names{};
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<std::ptrdiff_t>(extents[axis]);
    names[axis] = extents[axis] == 1 ? Axis::one : kScores[axis];
  }
  return {std::span<const std::size_t>(extents),
          std::span<const std::ptrdiff_t>(strides),
          std::span<const Axis>(names)};
}

}  // namespace headwise::inline HEADWISE_ABI
