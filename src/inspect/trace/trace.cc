#include "headwise/inspect/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T>
T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

std::size_t elements_in(std::span<const std::size_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::size_t{1},
                         std::multiplies<>());
}

// Copies a view's elements in C order.
std::vector<std::byte> packed(const AnyView& view) {
  const std::size_t count = elements_in(view.extents());
  const std::size_t bytes = size_of(view.dtype());
  std::vector<std::byte> data(count * bytes);
  std::vector<std::size_t> index(view.rank(), 0);
  const auto* base = static_cast<const std::byte*>(view.data());
  for (std::size_t n = 0; n < count; ++n) {
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < view.rank(); ++axis) {
      offset += static_cast<std::ptrdiff_t>(index[axis]) * view.strides()[axis];
    }
    std::memcpy(&data[n * bytes],
                base + offset * static_cast<std::ptrdiff_t>(bytes), bytes);
    for (std::size_t axis = view.rank(); axis-- > 0;) {
      if (++index[axis] < view.extents()[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
  return data;
}

bool is_mask(const TracedStep& step) { return step.dtype == DType::boolean; }

}  // namespace

AnyView TracedStep::view() const { return {data.data(), dtype, extents}; }

std::size_t TracedStep::size() const { return elements_in(extents); }

double TracedStep::at(std::size_t index) const {
  const std::byte* place = &data[index * size_of(dtype)];
  switch (dtype) {
    case DType::boolean:
      return load<bool>(place) ? 1 : 0;
    case DType::int64:
      return static_cast<double>(load<std::int64_t>(place));
    case DType::float32:
      return load<float>(place);
    default:
      return load<double>(place);
  }
}

StepSummary summarize(const TracedStep& step) {
  StepSummary summary{.count = step.size(),
                      .min = std::numeric_limits<double>::infinity(),
                      .max = -std::numeric_limits<double>::infinity()};
  for (std::size_t n = 0; n < summary.count; ++n) {
    const double x = step.at(n);
    if (std::isnan(x)) {
      ++summary.nan;
    } else if (is_mask(step) ? x == 0
                             : x == -std::numeric_limits<double>::infinity()) {
      ++summary.masked;
    }
    if (std::isfinite(x)) {
      ++summary.finite;
      summary.min = std::min(summary.min, x);
      summary.max = std::max(summary.max, x);
    }
  }
  if (summary.finite == 0) {
    summary.min = summary.max = 0;
  }
  return summary;
}

void Trace::on_step(std::string_view name,
                    std::span<const std::string_view> axes,
                    const AnyView& tensor) {
  TracedStep step{std::string(name),
                  {axes.begin(), axes.end()},
                  {tensor.extents().begin(), tensor.extents().end()},
                  tensor.dtype(),
                  packed(tensor)};
  // What each head has once has no batch axis.
  if (without_batch_ && !axes.empty() && axes[0] != "H" && axes[0] != "Hkv" &&
      tensor.extents()[0] == 1) {
    step.axes.erase(step.axes.begin());
    step.extents.erase(step.extents.begin());
  }
  steps_.push_back(std::move(step));
}

const TracedStep* Trace::find(std::string_view name) const {
  const auto found = std::ranges::find(steps_, name, &TracedStep::name);
  return found == steps_.end() ? nullptr : &*found;
}

}  // namespace headwise::inline HEADWISE_ABI
