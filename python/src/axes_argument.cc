#include "axes_argument.h"

#include <string>

#include "error.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr EnumWord<Axis> kAxes[] = {{"B", Axis::B},
                                    {"H", Axis::H},
                                    {"Lq", Axis::Lq},
                                    {"Lkv", Axis::Lkv},
                                    {"1", Axis::one}};

std::vector<Axis> default_axes(std::span<const std::size_t> extents,
                               ArgumentName name) {
  using enum Axis;
  if (extents.size() == 2) {
    return {Lq, Lkv};
  }
  if (extents.size() == 4) {
    return {B, H, Lq, Lkv};
  }
  raise_value(name, "has shape " + shape_text(extents),
              "(B, H, Lq, Lkv) or (Lq, Lkv), or "
              "headwise.dense(array, axes) with the names of its "
              "axes");
}

}  // namespace

std::vector<Axis> axes_of(nb::handle names,
                          std::span<const std::size_t> extents,
                          ArgumentName name) {
  std::vector<Axis> axes;
  if (names.is_none()) {
    axes = default_axes(extents, name);
  } else {
    for (const nb::handle axis : names) {
      axes.push_back(one_of(axis, {name.operation, "axes"}, kAxes));
    }
  }
  if (axes.size() != extents.size()) {
    raise_value(
        {name.operation, "axes"},
        "has " + std::to_string(axes.size()) + " names",
        "one for each axis of the array, " + std::to_string(extents.size()));
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (extents[axis] == 1) {
      axes[axis] = Axis::one;
    }
  }
  return axes;
}

nb::tuple axis_names(std::span<const Axis> axes) {
  nb::list names;
  for (const Axis axis : axes) {
    for (const EnumWord<Axis>& entry : kAxes) {
      if (entry.value == axis) {
        names.append(nb::str(entry.word.data(), entry.word.size()));
      }
    }
  }
  return nb::tuple(names);
}

}  // namespace headwise::python
