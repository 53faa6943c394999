#include "headwise/inspect/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

namespace headwise::inline HEADWISE_ABI {
namespace {

template <class T>
T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

// Copies a view's elements in C order.
std::vector<std::byte> packed(const AnyView& view) {
  const std::size_t count = view.size();
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

// Calls row(first, stride) for each row along the last axis of a view; strides
// are those of elements.
template <class Row>
void for_each_view_row(const AnyView& view, const Row& row) {
  const std::size_t last = view.rank() - 1;
  const std::size_t count =
      view.size() == 0 ? 0 : element_count(view.extents().first(last));
  std::vector<std::size_t> index(last, 0);
  std::ptrdiff_t offset = 0;
  for (std::size_t n = 0; n < count; ++n) {
    row(offset, view.strides()[last]);
    for (std::size_t axis = last; axis-- > 0;) {
      offset += view.strides()[axis];
      if (++index[axis] < view.extents()[axis]) {
        break;
      }
      offset -= static_cast<std::ptrdiff_t>(index[axis]) * view.strides()[axis];
      index[axis] = 0;
    }
  }
}

// Of the elements seen so far.
template <class T>
class SummarySums {
 public:
  void add(const T* row, std::ptrdiff_t stride, std::size_t count) {
    all_.count += count;
    std::size_t n = 0;
    for (; stride == 1 && n + kLanes <= count; n += kLanes) {
      add_lanes(row + n);
    }
    for (; n < count; ++n) {
      add_one(row[static_cast<std::ptrdiff_t>(n) * stride]);
    }
  }

  StepSummary summary() const {
    StepSummary all = all_;
    if (all.finite != 0) {
      all.min = static_cast<double>(least_);
      all.max = static_cast<double>(most_);
    }
    return all;
  }

 private:
  static constexpr std::size_t kLanes = 64;
  static constexpr T kMost = std::numeric_limits<T>::max();
  static constexpr T kLeast = std::numeric_limits<T>::lowest();
  static constexpr bool kMask = std::is_same_v<T, bool>;

  // Most rows are finite throughout, which a compiler can see of many elements
  // at a time.
  void add_lanes(const T* row) {
    constexpr std::size_t kTogether = 16;
    std::array<T, kTogether> least;
    std::copy_n(row, kTogether, least.begin());
    std::array<T, kTogether> most = least;
    std::array<int, kTogether> numbers{};
    for (std::size_t n = 0; n < kLanes; n += kTogether) {
      for (std::size_t lane = 0; lane < kTogether; ++lane) {
        const T x = row[n + lane];
        least[lane] = x < least[lane] ? x : least[lane];
        most[lane] = x > most[lane] ? x : most[lane];
        numbers[lane] += x == x ? 1 : 0;
      }
    }
    const T low = *std::ranges::min_element(least);
    const T high = *std::ranges::max_element(most);
    if (kMask || low < kLeast || high > kMost ||
        std::accumulate(numbers.begin(), numbers.end(), 0) != kLanes) {
      std::for_each_n(row, kLanes, [&](T x) { add_one(x); });
      return;
    }
    all_.finite += kLanes;
    least_ = std::min(least_, low);
    most_ = std::max(most_, high);
  }

  void add_one(T x) {
    if (x >= kLeast && x <= kMost) {
      ++all_.finite;
      least_ = std::min(least_, x);
      most_ = std::max(most_, x);
    }
    all_.masked += (kMask ? x == kLeast : x < kLeast) ? 1 : 0;
    all_.nan += x != x ? 1 : 0;
  }

  StepSummary all_{};
  T least_ = kMost;
  T most_ = kLeast;
};

template <class T>
StepSummary summary_in(const AnyView& view) {
  SummarySums<T> sums;
  if (view.rank() == 0) {
    sums.add(static_cast<const T*>(view.data()), 1, 1);
    return sums.summary();
  }
  for_each_view_row(view, [&](std::ptrdiff_t first, std::ptrdiff_t stride) {
    sums.add(static_cast<const T*>(view.data()) + first, stride,
             view.extents().back());
  });
  return sums.summary();
}

StepSummary summary_of(const AnyView& view) {
  switch (view.dtype()) {
    case DType::boolean:
      return summary_in<bool>(view);
    case DType::int64:
      return summary_in<std::int64_t>(view);
    case DType::float32:
      return summary_in<float>(view);
    default:
      return summary_in<double>(view);
  }
}

}  // namespace

AnyView TracedStep::view() const { return {data.data(), dtype, extents}; }

std::size_t TracedStep::size() const { return element_count(extents); }

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
  return step.summary ? *step.summary : summary_of(step.view());
}

void TraceSummary::on_step(std::string_view name,
                           std::span<const std::string_view> axes,
                           const AnyView& tensor) {
  steps_.push_back(
      {.name = std::string(name),
       .axes = {axes.begin(), axes.end()},
       .extents = {tensor.extents().begin(), tensor.extents().end()},
       .dtype = tensor.dtype(),
       .data = {},
       .summary = summary_of(tensor)});
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
