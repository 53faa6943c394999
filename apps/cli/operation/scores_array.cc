#include "scores_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "option_errors.h"

namespace headwise::cli {
namespace {

// "B,1,Lkv" -> axes. `option` is --mask-axes or --bias-axes.
Result<std::vector<Axis>> parse_axes(std::string_view option,
                                     std::string_view text) {
  static const std::map<std::string_view, Axis> kNames = {
      {"B", Axis::B},   {"H", Axis::H},     {"Hq", Axis::H},
      {"Lq", Axis::Lq}, {"Lkv", Axis::Lkv}, {"1", Axis::one}};
  std::vector<Axis> axes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const auto name = kNames.find(rest.substr(0, comma));
    if (name == kNames.end()) {
      return bad_option(option, std::string(text),
                        "names from B, H, Lq, Lkv and 1, separated by commas, "
                        "such as B,1,Lkv");
    }
    if (name->second != Axis::one &&
        std::ranges::find(axes, name->second) != axes.end()) {
      return bad_option(option, std::string(text), "each name once");
    }
    axes.push_back(name->second);
    if (comma == std::string_view::npos) {
      return axes;
    }
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<Axis>> axes_of(const std::string& option,
                                  const std::string& text, const Array& array) {
  if (!text.empty()) {
    auto axes = parse_axes(option + "-axes", text);
    if (axes && axes->size() != array.shape.size()) {
      return wrong_rank(
          option, array,
          message("one axis for each name in {}-axes {}", option, text));
    }
    return axes;
  }
  if (array.shape.size() != 4) {
    return wrong_rank(option, array,
                      message("4 axes (B, H, Lq, Lkv), or {}-axes to name "
                              "them, such as {}-axes B,1,Lkv",
                              option, option));
  }
  std::vector<Axis> axes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (array.shape[axis] == 1) {
      axes[axis] = Axis::one;
    }
  }
  return axes;
}

}  // namespace

Result<NamedAxes> flatten(const std::string& option, const std::string& text,
                          Array& array) {
  HEADWISE_ASSIGN(auto axes, axes_of(option, text, array));
  const NamedAxes named(array.shape, row_major(array.shape), axes);
  array.shape = {element_count(array.shape)};
  return named;
}

}  // namespace headwise::cli
