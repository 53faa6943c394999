// Operators that put elements in order: TopK, ArgMax, ArgMin.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "onnx/axis_lists.h"
#include "onnx/lines.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct OrderRule {
  bool largest = true;         // first
  bool last_of_equal = false;  // else the first
};

// NaN is above all numbers.
bool is_above(double a, double b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}
bool is_above(std::int64_t a, std::int64_t b) { return a > b; }

// The places of the first `count` elements of each line in order, one line
// after another.
template <class T>
std::vector<std::int64_t> first_places(const std::vector<T>& numbers,
                                       const Lines& lines, std::size_t count,
                                       OrderRule rule) {
  auto places = NodeMemory::numbers<std::int64_t>(lines.length);
  auto chosen = NodeMemory::numbers<std::int64_t>(lines.count * count);
  for (std::size_t i = 0; i < lines.count; ++i) {
    std::iota(places.begin(), places.end(), std::int64_t{0});
    const auto at = [&, first = lines.first(i)](std::int64_t place) {
      return numbers[first + static_cast<std::size_t>(place) * lines.step];
    };
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
    std::ranges::partial_sort(places, end, [&](std::int64_t a, std::int64_t b) {
      const bool above = is_above(at(a), at(b));
      const bool below = is_above(at(b), at(a));
      return above || below ? above == rule.largest
                            : (rule.last_of_equal ? a > b : a < b);
    });
    std::copy(places.begin(), end,
              chosen.begin() + static_cast<std::ptrdiff_t>(i * count));
  }
  return chosen;
}

std::vector<std::int64_t> places_in_order(const Array& x, const Lines& lines,
                                          std::size_t count, OrderRule rule) {
  if (is_floating(x.dtype)) {
    return first_places(doubles_of(x), lines, count, rule);
  }
  std::vector<std::int64_t> wholes = integers_of(x);
  for (std::int64_t& each : wholes) {
    // Bits of uint64, in the order of int64.
    each ^=
        x.dtype == DType::uint64 ? std::numeric_limits<std::int64_t>::min() : 0;
  }
  return first_places(wholes, lines, count, rule);
}

template <bool largest>
Result<Outputs> place_of_extreme(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", 0, x.shape.size()));
  HEADWISE_ASSIGN(const auto keeps, node.integer("keepdims", 1));
  HEADWISE_ASSIGN(const auto last, node.flag("select_last_index"));
  const Lines lines(x.shape, axis);
  if (lines.length == 0) {
    return node.wrong_shape(0,
                            message("at least 1 element along axis {}", axis));
  }
  std::vector<std::size_t> shape = x.shape;
  shape[axis] = 1;
  if (keeps == 0) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return one(array_from(places_in_order(x, lines, 1, {largest, last}),
                        std::move(shape), DType::int64));
}

// In order, whether it is asked for or not.
Result<Outputs> run_top_k(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", -1, x.shape.size()));
  HEADWISE_ASSIGN(const auto largest, node.integer("largest", 1));
  HEADWISE_ASSIGN(const auto given, list_input(node, 1));
  const Lines lines(x.shape, axis);
  if (given.size() != 1 || given.front() < 0 ||
      given.front() > static_cast<std::int64_t>(lines.length)) {
    return node.input(1).error(ErrorCode::out_of_range,
                               "is not a number of elements to take",
                               message("one number, 0 to {}", lines.length));
  }
  const auto count = static_cast<std::size_t>(given.front());
  const auto chosen = places_in_order(x, lines, count, {largest != 0});
  std::vector<std::size_t> shape = x.shape;
  shape[axis] = count;
  HEADWISE_ASSIGN(auto values, array_of(shape, x.dtype));
  HEADWISE_ASSIGN(auto places, array_of(shape, DType::int64));
  const Lines made(shape, axis);
  const std::size_t item = size_of(x.dtype);
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    const std::size_t line = n / count;
    const std::size_t to = made.first(line) + n % count * made.step;
    const std::size_t from =
        lines.first(line) + static_cast<std::size_t>(chosen[n]) * lines.step;
    std::memcpy(values.data.data() + to * item, x.data.data() + from * item,
                item);
    std::memcpy(places.data.data() + to * sizeof chosen[n], &chosen[n],
                sizeof chosen[n]);
  }
  Outputs outputs;
  outputs.push_back(std::move(values));
  outputs.push_back(std::move(places));
  return outputs;
}

}  // namespace

std::vector<OnnxOperator> order_operators() {
  const std::vector<std::string_view> attributes = {"axis", "keepdims",
                                                    "select_last_index"};
  return {
      {"ArgMax", 13, 1, 1, 1, attributes, place_of_extreme<true>},
      {"ArgMin", 13, 1, 1, 1, attributes, place_of_extreme<false>},
      {"TopK", 13, 2, 2, 2, {"axis", "largest", "sorted"}, run_top_k},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
