#include "steps/call_part.h"

#include <algorithm>
#include <array>
#include <span>

namespace headwise::internal::inline HEADWISE_ABI {

NamedAxes axes_of_part(const NamedAxes& axes, const CallPart& part) {
  const std::size_t rank = axes.axes().size();
  std::array<std::size_t, kMostAxes> extents{};
  std::array<std::ptrdiff_t, kMostAxes> strides{};
  std::ranges::copy(axes.extents(), extents.begin());
  std::ranges::copy(axes.strides(), strides.begin());
  for (std::size_t a = 0; a < rank; ++a) {
    if (axes.axes()[a] != Axis::one) {
      const PartRange& range = part.along(axes.axes()[a]);
      extents[a] = range.count;
      strides[a] *= static_cast<std::ptrdiff_t>(range.step);
    }
  }
  return {std::span(extents).first(rank), std::span(strides).first(rank),
          axes.axes()};
}

std::ptrdiff_t offset_of_part(const NamedAxes& axes, const CallPart& part) {
  return axes.offset(part.sequences.first, part.heads.first, part.queries.first,
                     part.keys.first);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
