// Whether two views share memory. An output that lies in the memory of an input
// would be read after it was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

// The bytes of a view's elements: runs of equal size, apart by strides.
class Footprint {
 public:
  Footprint() = default;  // no elements
  explicit Footprint(const TensorArg& view);

  // Whether two elements of the view share memory. A view with strides that do
  // not nest, such as 3 and 4, counts as the whole range of its bytes.
  bool overlaps_itself() const { return overlaps_itself_; }
  bool overlaps(const Footprint& other) const;

 private:
  static constexpr std::size_t kMostAxes = TensorArg::kMostAxes;
  struct Axis {
    std::uintptr_t stride = 0;  // in bytes
    std::size_t extent = 0;
  };

  void add(std::size_t extent, std::ptrdiff_t stride);
  void join_axes();

  bool empty() const { return run_ == 0; }
  std::uintptr_t end() const { return begin_ + span_; }
  std::size_t runs() const;
  // Whether an element lies in the run that begins at `first`.
  bool touches(std::uintptr_t first, std::size_t run) const;

  std::uintptr_t begin_ = 0;
  std::size_t run_ = 0;   // contiguous bytes; 0: there are no elements
  std::size_t span_ = 0;  // bytes from the first to behind the last
  std::size_t element_bytes_ = 0;
  std::array<Axis, kMostAxes> axes_{};  // the smallest stride first
  std::size_t count_ = 0;               // of axes
  bool overlaps_itself_ = false;
};

// The same elements in the same order.
bool is_same_view(const TensorArg& a, const TensorArg& b);

// A tensor of a call, as messages name it.
struct NamedFootprint {
  std::string_view name;
  Footprint memory;
};

// Errors: invalid_argument for an output that shares memory with an input, with
// another output, or with itself.
Status check_overlap(std::string_view operation,
                     std::span<const NamedFootprint> outputs,
                     std::span<const NamedFootprint> inputs);
Status check_overlap(std::string_view operation,
                     std::initializer_list<NamedFootprint> outputs,
                     std::initializer_list<NamedFootprint> inputs);

// An input that a step may overwrite.
template <class T, std::size_t Rank>
struct NamedInput {
  std::string_view name;
  TensorView<const T, Rank> view;
};

// Errors: invalid_argument for an output that shares memory with an input, but
// is not that input itself.
template <class T, std::size_t Rank>
Status check_in_place(std::string_view operation, std::string_view name,
                      const TensorView<T, Rank>& output,
                      std::initializer_list<NamedInput<T, Rank>> inputs) {
  for (const NamedInput<T, Rank>& input : inputs) {
    if (is_same_view(output, input.view)) {
      continue;
    }
    HEADWISE_TRY(check_overlap(operation, {{name, Footprint(output)}},
                               {{input.name, Footprint(input.view)}}));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
