// A part of a call of attention: some of its sequences, heads, queries and
// keys. The part is a call of its own, on the tensors' parts
// (attention/call_part.h makes its options), and each rule of a mask knows
// itself in it (mask_rule.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/named_axes.h"
#include "headwise/version.h"

namespace headwise::internal::inline HEADWISE_ABI {

// The numbers first, first + step, ... , `count` of them.
struct PartRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t step = 1;

  std::size_t operator[](std::size_t n) const { return first + n * step; }
  friend bool operator==(const PartRange&, const PartRange&) = default;
};

// In a ragged batch queries and keys are counted within their sequence.
struct CallPart {
  PartRange sequences;
  PartRange heads;     // of the queries; the only ones with a step
  PartRange kv_heads;  // each is read by one of `heads`
  PartRange queries;
  PartRange keys;

  // Along B, H, Lq, Lkv.
  const PartRange& along(Axis axis) const {
    return axis == Axis::B    ? sequences
           : axis == Axis::H  ? heads
           : axis == Axis::Lq ? queries
                              : keys;
  }
};

// The numbers that a part's options point to and that no tensor of the whole
// call holds, such as lengths minus the keys before the part. They stay where
// they are when this is moved.
class PartNumbers {
 public:
  // number(row, column) for each element.
  template <class Number>
  TensorView<const std::int64_t, 2> keep(const Extents<2>& extents,
                                         const Number& number) {
    std::vector<std::int64_t>& kept = kept_.emplace_back();
    kept.reserve(extents[0] * extents[1]);
    for (std::size_t row = 0; row < extents[0]; ++row) {
      for (std::size_t column = 0; column < extents[1]; ++column) {
        kept.push_back(number(row, column));
      }
    }
    return {kept.data(), extents};
  }
  template <class Number>
  TensorView<const std::int64_t, 1> keep(std::size_t count,
                                         const Number& number) {
    const auto column =
        keep({count, 1}, [&](std::size_t n, std::size_t) { return number(n); });
    return {column.data(), {count}};
  }

 private:
  std::vector<std::vector<std::int64_t>> kept_;
};

// The view's part along one axis. No view has no part.
template <class T, std::size_t Rank>
TensorView<T, Rank> part_along(std::size_t axis, TensorView<T, Rank> view,
                               const PartRange& range) {
  if (view.data() == nullptr) {
    return view;
  }
  Extents<Rank> extents = view.extents();
  Strides<Rank> strides = view.strides();
  T* data =
      view.data() + static_cast<std::ptrdiff_t>(range.first) * strides[axis];
  extents[axis] = range.count;
  strides[axis] *= static_cast<std::ptrdiff_t>(range.step);
  return {data, extents, strides};
}

// A dense tensor over the scores in a part: its axes there, and the offset of
// the part's first element.
NamedAxes axes_of_part(const NamedAxes& axes, const CallPart& part);
std::ptrdiff_t offset_of_part(const NamedAxes& axes, const CallPart& part);

}  // namespace headwise::internal::inline HEADWISE_ABI
