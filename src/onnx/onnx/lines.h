// The lines of an array along one of its axes.
#pragma once

#include <cstddef>
#include <span>

#include "onnx/numbers.h"

namespace headwise::inline HEADWISE_ABI {

struct Lines {
  Lines(std::span<const std::size_t> shape, std::size_t axis)
      : length(shape[axis]),
        step(element_count(shape.subspan(axis + 1))),
        count(element_count(shape.first(axis)) * step) {}

  // The element where a line begins; the next ones are `step` apart.
  std::size_t first(std::size_t line) const {
    return line / step * step * length + line % step;
  }

  std::size_t length;
  std::size_t step;
  std::size_t count;
};

}  // namespace headwise::inline HEADWISE_ABI
