#include "headwise/steps/named_axes.h"

#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::string_view, 5> kAxisNames = {"B", "H", "Lq", "Lkv",
                                                        "1"};

// "(B, 1, Lkv)"
std::string axes_text(const std::vector<Axis>& axes) {
  std::string text = "(";
  for (const Axis axis : axes) {
    if (text.size() > 1) {
      text += ", ";
    }
    text += kAxisNames[static_cast<std::size_t>(axis)];
  }
  return text + ")";
}

}  // namespace

Status NamedAxes::check(const AttentionShape& shape, std::string_view operation,
                        std::string_view argument) try {
  const std::string names = axes_text(axes);
  for (const auto& [count, what] : {std::pair(extents.size(), " axes"),
                                    std::pair(strides.size(), " strides")}) {
    if (axes.size() != count) {
      return argument_error(operation, argument,
                            "has " + std::to_string(count) + what,
                            "one for each name in " + names);
    }
  }
  const std::array<std::size_t, 4> sizes = {shape.B, shape.Hq, shape.Lq,
                                            shape.Lkv};
  std::array<bool, 4> named{};
  std::vector<std::size_t> expected;
  stride_of = {};
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a] == Axis::one) {
      expected.push_back(1);
      continue;
    }
    const auto axis = static_cast<std::size_t>(axes[a]);
    if (named[axis]) {
      return argument_error(operation, argument,
                            "has axes " + names + " that name " +
                                std::string(kAxisNames[axis]) + " twice",
                            "each name once");
    }
    named[axis] = true;
    expected.push_back(sizes[axis]);
    stride_of[axis] = strides[a];
  }
  return check_shape(operation, argument, extents, names, expected);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
