// Operators that reduce axes: ReduceMax, ReduceMin, ReduceSum, ReduceMean; and
// CumSum, which keeps the sums on the way.
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "onnx/axis_lists.h"
#include "onnx/broadcast.h"
#include "onnx/extremes.h"
#include "onnx/lines.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is reduced, and the shapes that are left.
struct Reduction {
  std::vector<std::size_t> kept{};    // with extent 1 where an axis is reduced
  std::vector<std::size_t> result{};  // of the output
  std::size_t count = 1;              // elements per element of the output
};

// The axes are an attribute before `inputs_since`, an input from there on.
Result<std::vector<std::int64_t>> given_axes(const NodeCall& node,
                                             std::int64_t inputs_since) {
  const bool as_input = node.opset() >= inputs_since;
  if (as_input ? node.find("axes") != nullptr : node.has(1)) {
    return (as_input ? node.attribute("axes") : node.input(1))
        .bad_data(message("is given in opset {}", node.opset()),
                  as_input ? "axes as an input" : "axes as an attribute");
  }
  if (as_input) {
    return node.has(1)
               ? list_input(node, 1)
               : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>());
  }
  HEADWISE_ASSIGN(const auto axes, node.integers("axes"));
  return axes.value_or(std::vector<std::int64_t>());
}

Result<Reduction> reduction_of(const NodeCall& node,
                               std::int64_t inputs_since) {
  const std::vector<std::size_t>& shape = node.in(0).shape;
  HEADWISE_ASSIGN(auto given, given_axes(node, inputs_since));
  HEADWISE_ASSIGN(const auto keeps, node.integer("keepdims", 1));
  HEADWISE_ASSIGN(const auto keeps_all, node.flag("noop_with_empty_axes"));
  if (given.empty() && !keeps_all) {
    given.resize(shape.size());
    std::iota(given.begin(), given.end(), std::int64_t{0});
  }
  HEADWISE_ASSIGN(
      const auto axes,
      distinct_axes(node, node.has(1) ? node.input(1) : node.attribute("axes"),
                    given, shape.size()));
  Reduction reduction{.kept = shape};
  for (const std::size_t axis : axes) {
    reduction.count *= shape[axis];
    reduction.kept[axis] = 1;
  }
  reduction.result = reduction.kept;
  if (keeps == 0) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      reduction.result.erase(reduction.result.begin() +
                             static_cast<std::ptrdiff_t>(axes[i]));
    }
  }
  HEADWISE_TRY(check_size(reduction.kept));
  return reduction;
}

template <class T, class Fold>
std::vector<T> reduced(const NodeCall& node, const Reduction& reduction,
                       const std::vector<T>& elements, T first, Fold fold) {
  const std::vector<std::size_t>& shape = node.in(0).shape;
  std::vector<T> result(element_count(reduction.kept), first);
  const auto steps = broadcast_strides(reduction.kept, shape);
  std::size_t i = 0;
  for (Odometer at(shape); !at.done(); at.next(), ++i) {
    T& into = result[at.offset(steps)];
    into = fold(into, elements[i]);
  }
  return result;
}

template <bool largest>
Result<Outputs> reduce_to_extreme(const NodeCall& node) {
  const DType dtype = node.in(0).dtype;
  const bool bools = dtype == DType::boolean;
  if (bools && node.opset() < 20) {
    return wrong_type(node, 0, "numbers");
  }
  HEADWISE_ASSIGN(const auto reduction, reduction_of(node, 18));
  const auto extremes = [&](const auto& elements, auto first) {
    const auto fold = [&](auto a, auto b) {
      return extreme_of(a, b, largest, dtype);
    };
    return one(array_from(reduced(node, reduction, elements, first, fold),
                          reduction.result, dtype));
  };
  const double first = largest ? -kInfinity : kInfinity;
  return is_floating(dtype)
             ? extremes(doubles_of(node.in(0)), first)
             : extremes(integers_of(node.in(0)),
                        bools ? std::int64_t{!largest} : whole(first, dtype));
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(b));
}

// Sums, each divided by `divisor` (a number of elements, which is not 0 for
// integers). Integers are divided towards 0.
Result<Outputs> sums(const NodeCall& node, const Reduction& reduction,
                     std::size_t divisor) {
  const DType dtype = node.in(0).dtype;
  if (is_floating(dtype)) {
    auto numbers =
        reduced(node, reduction, doubles_of(node.in(0)), 0.0, std::plus<>());
    for (double& number : numbers) {
      number /= static_cast<double>(divisor);
    }
    return one(array_from(numbers, reduction.result, dtype));
  }
  auto wholes = reduced(node, reduction, integers_of(node.in(0)),
                        std::int64_t{0}, wrapped_sum);
  for (std::int64_t& each : wholes) {
    each = dtype == DType::uint64
               ? static_cast<std::int64_t>(static_cast<std::uint64_t>(each) /
                                           divisor)
               : each / static_cast<std::int64_t>(divisor);
  }
  return one(array_from(wholes, reduction.result, dtype));
}

// Sums along lines, backwards where asked for; `exclusive`: without the element
// itself.
template <class T, class Add>
void accumulate(const Lines& lines, bool exclusive, bool backwards,
                std::vector<T>& numbers, Add add) {
  for (std::size_t i = 0; i < lines.count; ++i) {
    T sum{};
    for (std::size_t j = 0; j < lines.length; ++j) {
      const std::size_t place = backwards ? lines.length - 1 - j : j;
      T& number = numbers[lines.first(i) + place * lines.step];
      const T before = sum;
      sum = add(sum, number);
      number = exclusive ? before : sum;
    }
  }
}

Result<Outputs> run_cum_sum(const NodeCall& node) {
  const Array& x = node.in(0);
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_ASSIGN(const auto exclusive, node.flag("exclusive"));
  HEADWISE_ASSIGN(const auto backwards, node.flag("reverse"));
  HEADWISE_ASSIGN(const auto given, list_input(node, 1));
  HEADWISE_TRY(check_one_element(node, 1));
  HEADWISE_ASSIGN(const auto axis,
                  node.axis_of(given.front(), x.shape.size(), node.input(1)));
  const Lines lines(x.shape, axis);
  const auto accumulated = [&](auto numbers, auto add) {
    accumulate(lines, exclusive, backwards, numbers, add);
    return one(array_from(numbers, x.shape, x.dtype));
  };
  return is_floating(x.dtype) ? accumulated(doubles_of(x), std::plus<>())
                              : accumulated(integers_of(x), wrapped_sum);
}

Result<Outputs> run_reduce_sum(const NodeCall& node) {
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_ASSIGN(const auto reduction, reduction_of(node, 13));
  return sums(node, reduction, 1);
}

Result<Outputs> run_reduce_mean(const NodeCall& node) {
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_ASSIGN(const auto reduction, reduction_of(node, 18));
  if (reduction.count == 0 && is_integer(node.in(0).dtype)) {
    return node.wrong_shape(0, "at least 1 element to average (integer mean)");
  }
  return sums(node, reduction, reduction.count);
}

}  // namespace

std::vector<OnnxOperator> reduce_operators() {
  const std::vector<std::string_view> attributes = {"axes", "keepdims",
                                                    "noop_with_empty_axes"};
  return {
      {"CumSum", 13, 2, 2, 1, {"exclusive", "reverse"}, run_cum_sum},
      {"ReduceMax", 13, 1, 2, 1, attributes, reduce_to_extreme<true>},
      {"ReduceMean", 13, 1, 2, 1, attributes, run_reduce_mean},
      {"ReduceMin", 13, 1, 2, 1, attributes, reduce_to_extreme<false>},
      {"ReduceSum", 13, 1, 2, 1, attributes, run_reduce_sum},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
