#include "decode_steps.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace headwise::cli {
namespace {

// The part [first, first + count) along one axis.
TracedStep slice(const TracedStep& step, std::size_t axis, std::size_t first,
                 std::size_t count) {
  TracedStep part = step;
  part.extents[axis] = count;
  if (step.data.empty()) {
    return part;
  }
  std::size_t repeats = 1;
  std::size_t bytes = size_of(step.dtype);
  for (std::size_t n = 0; n < step.extents.size(); ++n) {
    (n < axis ? repeats : bytes) *= n == axis ? 1 : step.extents[n];
  }
  part.data.clear();
  for (std::size_t n = 0; n < repeats; ++n) {
    const std::byte* const from =
        step.data.data() + (n * step.extents[axis] + first) * bytes;
    part.data.insert(part.data.end(), from, from + count * bytes);
  }
  return part;
}

std::size_t axis_of(const TracedStep& step, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(step.axes, name) -
                                  step.axes.begin());
}

// The axis of tokens, of which the last is new; no such axis: the rank.
std::size_t token_axis(const TracedStep& step) {
  const bool of_keys = step.name == "k" || step.name.starts_with("k_") ||
                       step.name == "v" || step.name.starts_with("v_");
  return std::min(axis_of(step, of_keys ? "Lkv" : "Lq"), axis_of(step, "L"));
}

// The step with the last token alone.
TracedStep of_new_token(const TracedStep& step) {
  const std::size_t axis = token_axis(step);
  if (axis == step.axes.size()) {
    return step;
  }
  TracedStep last = slice(step, axis, step.extents[axis] - 1, 1);
  last.axes[axis] = "Lq";
  return last;
}

// What the cache holds of the keys or values, and what they are with the new
// ones.
void add_cached(const TracedStep& all, std::string_view name,
                std::vector<TracedStep>& steps) {
  const std::size_t axis = axis_of(all, "Lkv");
  TracedStep before = slice(all, axis, 0, all.extents[axis] - 1);
  before.name = "cached_" + std::string(name);
  before.axes[axis] = "P";
  steps.push_back(std::move(before));
  steps.push_back(all);
  steps.back().name = name;
}

}  // namespace

std::vector<TracedStep> decode_steps(std::span<const TracedStep> pass) {
  std::vector<TracedStep> steps;
  const TracedStep* keys = nullptr;  // the last form that they take
  const TracedStep* values = nullptr;
  for (const TracedStep& step : pass) {
    if (step.name == "lengths") {
      continue;
    }
    if (step.name == "scores") {
      add_cached(*keys, "keys", steps);
      add_cached(*values, "values", steps);
    }
    keys = step.name.starts_with("k_") ? &step : keys;
    values = step.name == "v_heads" ? &step : values;
    steps.push_back(of_new_token(step));
    if (step.name == "padded") {
      steps.back().name = "new_token";
    }
  }
  return steps;
}

}  // namespace headwise::cli
