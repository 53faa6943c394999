#include "base/memory_overlap.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Footprint::Footprint(const TensorArg& view)
    : begin_(reinterpret_cast<std::uintptr_t>(view.data())),
      run_(view.data() == nullptr ? 0 : size_of(view.dtype())),
      element_bytes_(size_of(view.dtype())) {
  for (std::size_t axis = 0; !empty() && axis < view.extents().size(); ++axis) {
    add(view.extents()[axis], view.strides()[axis]);
  }
  join_axes();
}

void Footprint::add(std::size_t extent, std::ptrdiff_t stride) {
  if (extent == 0) {
    run_ = 0;
  }
  if (extent <= 1) {
    return;
  }
  const auto step = static_cast<std::uintptr_t>(stride) * element_bytes_;
  if (stride < 0) {
    begin_ += step * (extent - 1);  // backwards
  }
  axes_[count_++] = {stride < 0 ? std::uintptr_t{0} - step : step, extent};
}

// Axes whose runs touch become part of the run.
void Footprint::join_axes() {
  const std::size_t given = count_;
  count_ = 0;
  if (empty()) {
    return;
  }
  std::ranges::sort(axes_.begin(), axes_.begin() + given, {}, &Axis::stride);
  span_ = run_;
  bool exact = true;  // each byte of a run belongs to an element
  for (std::size_t n = 0; n < given; ++n) {
    const auto [stride, extent] = axes_[n];
    const bool nests = stride >= span_;
    overlaps_itself_ = overlaps_itself_ || (exact && stride < run_);
    if (!nests || (count_ == 0 && stride == run_)) {
      exact = exact && count_ == 0;
      run_ = stride * (extent - 1) + span_;
      span_ = run_;
      count_ = 0;
      continue;
    }
    axes_[count_++] = {stride, extent};
    span_ += stride * (extent - 1);
  }
}

bool is_same_view(const TensorArg& a, const TensorArg& b) {
  bool same = a.data() == b.data() && a.dtype() == b.dtype() &&
              std::ranges::equal(a.extents(), b.extents());
  for (std::size_t axis = 0; same && axis < a.extents().size(); ++axis) {
    same = a.extents()[axis] <= 1 || a.strides()[axis] == b.strides()[axis];
  }
  return same;
}

std::size_t Footprint::runs() const {
  std::size_t runs = 1;
  for (std::size_t n = 0; n < count_; ++n) {
    runs *= axes_[n].extent;
  }
  return runs;
}

bool Footprint::touches(std::uintptr_t first, std::size_t run) const {
  // The last run of this view that begins before the other view ends.
  if (first + run <= begin_) {
    return false;
  }
  const std::uintptr_t last = first + run - 1;
  std::uintptr_t rest = last - begin_;
  for (std::size_t n = count_; n-- > 0;) {
    const auto [stride, extent] = axes_[n];
    rest -= std::min<std::uintptr_t>(rest / stride, extent - 1) * stride;
  }
  return last - rest + run_ > first;
}

bool Footprint::overlaps(const Footprint& other) const {
  if (empty() || other.empty() || end() <= other.begin_ ||
      other.end() <= begin_) {
    return false;
  }
  if (other.runs() < runs()) {
    return other.overlaps(*this);
  }
  std::array<std::size_t, kMostAxes> index{};
  for (std::uintptr_t first = begin_;;) {
    if (other.touches(first, run_)) {
      return true;
    }
    std::size_t n = 0;
    for (; n < count_ && ++index[n] == axes_[n].extent; ++n) {
      first -= axes_[n].stride * (axes_[n].extent - 1);
      index[n] = 0;
    }
    if (n == count_) {
      return false;
    }
    first += axes_[n].stride;
  }
}

Status check_overlap(std::string_view operation,
                     std::initializer_list<NamedFootprint> outputs,
                     std::initializer_list<NamedFootprint> inputs) {
  return check_overlap(
      operation, std::span(outputs.begin(), outputs.size()),
      std::span<const NamedFootprint>(inputs.begin(), inputs.size()));
}

Status check_overlap(std::string_view operation,
                     std::span<const NamedFootprint> outputs,
                     std::span<const NamedFootprint> inputs) {
  const auto error = [&](const NamedFootprint& output, std::string_view with) {
    return argument_error(operation, output.name,
                          message("is in the memory of {}", with),
                          "memory of its own");
  };
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    const NamedFootprint& output = outputs[n];
    if (output.memory.overlaps_itself()) {
      return value_error(operation, output.name,
                         "a view whose elements share memory",
                         "an element of memory for each");
    }
    for (const NamedFootprint& input : inputs) {
      if (output.memory.overlaps(input.memory)) {
        return error(output, input.name);
      }
    }
    for (const NamedFootprint& other : outputs.first(n)) {
      if (output.memory.overlaps(other.memory)) {
        return error(output, other.name);
      }
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
