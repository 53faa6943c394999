#include "onnx/strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headwise/base/dtype.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {

std::vector<std::size_t> strides_of(std::span<const std::size_t> shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

Odometer::Odometer(std::span<const std::size_t> shape)
    : shape_(shape),
      at_(shape.size()),
      done_(std::ranges::find(shape, std::size_t{0}) != shape.end()) {}

void Odometer::next() {
  for (std::size_t axis = at_.size(); axis-- > 0;) {
    if (++at_[axis] < shape_[axis]) {
      return;
    }
    at_[axis] = 0;
  }
  done_ = true;
}

std::size_t Odometer::offset(std::span<const std::size_t> strides) const {
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < at_.size(); ++axis) {
    offset += at_[axis] * strides[axis];
  }
  return offset;
}

Result<Array> gathered(const Array& from, std::vector<std::size_t> shape,
                       std::span<const std::size_t> strides,
                       std::size_t first) {
  HEADWISE_ASSIGN(auto array, array_of(std::move(shape), from.dtype));
  const std::size_t item = size_of(from.dtype);
  std::byte* to = array.data.data();
  for (Odometer at(array.shape); !at.done(); at.next(), to += item) {
    std::memcpy(to, from.data.data() + (first + at.offset(strides)) * item,
                item);
  }
  return array;
}

Result<Array> permuted(const Array& array, std::span<const std::size_t> order) {
  const auto own = strides_of(array.shape);
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;
  for (const std::size_t axis : order) {
    shape.push_back(array.shape[axis]);
    strides.push_back(own[axis]);
  }
  return gathered(array, std::move(shape), strides);
}

void scatter(const Array& from, Array& into,
             std::span<const std::size_t> strides, std::size_t first) {
  const std::size_t item = size_of(from.dtype);
  const std::byte* source = from.data.data();
  for (Odometer at(from.shape); !at.done(); at.next(), source += item) {
    std::memcpy(into.data.data() + (first + at.offset(strides)) * item, source,
                item);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
