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

Error wrong_count(const std::string& subject, std::size_t count,
                  const std::string& what, const std::string& names) {
  return {ErrorCode::invalid_argument,
          subject + " has " + std::to_string(count) + what +
              ", expected one for each name in " + names};
}

Error named_twice(const std::string& subject, const std::string& names,
                  std::size_t axis) {
  return {ErrorCode::invalid_argument, subject + " axes " + names + " name " +
                                           std::string(kAxisNames[axis]) +
                                           " twice, expected each name once"};
}

}  // namespace

Status NamedAxes::check(const AttentionShape& shape, std::string_view operation,
                        std::string_view argument) try {
  const std::string names = axes_text(axes);
  const std::string subject =
      std::string(operation) + ": " + std::string(argument);
  if (axes.size() != extents.size()) {
    return wrong_count(subject, extents.size(), " axes", names);
  }
  if (axes.size() != strides.size()) {
    return wrong_count(subject, strides.size(), " strides", names);
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
      return named_twice(subject, names, axis);
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
