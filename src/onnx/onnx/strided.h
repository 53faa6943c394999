// Elements moved without being read: from strides to C order, and back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"

namespace headwise::inline HEADWISE_ABI {

// The strides of an array in C order, in elements.
std::vector<std::size_t> strides_of(std::span<const std::size_t> shape);

// Counts through the indices of a shape in C order.
//
//   for (Odometer at(shape); !at.done(); at.next()) ... at.offset(strides)
class Odometer {
 public:
  explicit Odometer(std::span<const std::size_t> shape);

  bool done() const { return done_; }
  void next();
  std::size_t index(std::size_t axis) const { return at_[axis]; }
  std::size_t offset(std::span<const std::size_t> strides) const;

 private:
  std::span<const std::size_t> shape_;
  std::vector<std::size_t> at_;
  bool done_ = false;
};

// An array of this shape whose element at an index is that of `from` at first +
// index * strides; a stride of 0 repeats it.
Result<Array> gathered(const Array& from, std::vector<std::size_t> shape,
                       std::span<const std::size_t> strides,
                       std::size_t first = 0);

// The axes in another order.
Result<Array> permuted(const Array& array, std::span<const std::size_t> order);

// Writes the elements of `from` to `into` at first + index * strides.
void scatter(const Array& from, Array& into,
             std::span<const std::size_t> strides, std::size_t first);

}  // namespace headwise::inline HEADWISE_ABI
