#include "headwise/steps/named_axes.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::string_view, 5> kAxisNames = {"B", "H", "Lq", "Lkv",
                                                        "1"};

// "(B, 1, Lkv)"
std::string axes_text(std::span<const Axis> axes) {
  std::string text = "(";
  for (const Axis axis : axes) {
    if (text.size() > 1) {
      text += ", ";
    }
    text += kAxisNames[static_cast<std::size_t>(axis)];
  }
  return text + ")";
}

Error wrong_count(std::string_view operation, std::string_view argument,
                  std::size_t count, std::string_view what, Message expected,
                  ErrorCode code) {
  return argument_error(operation, argument,
                        message("has {} {}", count, Message(what)),
                        std::move(expected), code);
}

Error named_twice(std::string_view operation, std::string_view argument,
                  std::span<const Axis> axes, Axis axis) {
  return argument_error(
      operation, argument,
      message("has axes {} that name {} twice", axes_text(axes),
              kAxisNames[static_cast<std::size_t>(axis)]),
      "each name once");
}

// The first axis that is named a second time; `one` if there is none.
Axis repeated(std::span<const Axis> axes) {
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (*axis != Axis::one && std::find(axes.begin(), axis, *axis) != axis) {
      return *axis;
    }
  }
  return Axis::one;
}

template <class T>
void copy_those_that_fit(std::span<const T> from,
                         std::array<T, kMostAxes>& to) {
  std::copy_n(from.begin(), std::min(from.size(), kMostAxes), to.begin());
}

}  // namespace

NamedAxes::NamedAxes(std::span<const std::size_t> extents,
                     std::span<const std::ptrdiff_t> strides,
                     std::span<const Axis> axes)
    : extent_count_(extents.size()),
      stride_count_(strides.size()),
      axis_count_(axes.size()) {
  copy_those_that_fit(extents, extents_);
  copy_those_that_fit(strides, strides_);
  copy_those_that_fit(axes, axes_);
  for (std::size_t a = 0; a < this->axes().size(); ++a) {
    if (axes_[a] != Axis::one) {
      score_strides_[static_cast<std::size_t>(axes_[a])] = strides_[a];
    }
  }
}

std::array<bool, 4> NamedAxes::named() const {
  std::array<bool, 4> named{};
  for (const Axis axis : axes()) {
    if (axis != Axis::one) {
      named[static_cast<std::size_t>(axis)] = true;
    }
  }
  return named;
}

Status NamedAxes::check(const AttentionShape& shape, std::string_view operation,
                        std::string_view argument) const try {
  const std::array<std::size_t, 4> sizes = {shape.B, shape.Hq, shape.Lq,
                                            shape.Lkv};
  for (const auto& [count, what] : {std::pair(extent_count_, "axes"),
                                    {stride_count_, "strides"},
                                    {axis_count_, "names of axes"}}) {
    if (count > kMostAxes) {
      return wrong_count(operation, argument, count, what,
                         message("at most {}", kMostAxes),
                         ErrorCode::unsupported);
    }
  }
  for (const auto& [count, what] :
       {std::pair(extent_count_, "axes"), {stride_count_, "strides"}}) {
    if (count != axis_count_) {
      return wrong_count(operation, argument, count, what,
                         message("one for each name in {}", axes_text(axes())),
                         ErrorCode::invalid_argument);
    }
  }
  if (const Axis axis = repeated(axes()); axis != Axis::one) {
    return named_twice(operation, argument, axes(), axis);
  }
  std::array<std::size_t, kMostAxes> expected{};
  std::ranges::transform(axes(), expected.begin(), [&](Axis axis) {
    return axis == Axis::one ? 1 : sizes[static_cast<std::size_t>(axis)];
  });
  const auto wanted = std::span(expected).first(axis_count_);
  return std::ranges::equal(extents(), wanted)
             ? ok()
             : Status(shape_error(operation, argument, extents(),
                                  axes_text(axes()), wanted));
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
