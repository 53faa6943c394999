// Range: start, start + delta, ... before limit.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "onnx/numbers.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kStart = 0;
constexpr std::size_t kLimit = 1;
constexpr std::size_t kDelta = 2;

Status check_range(const NodeCall& node) {
  constexpr std::array kTypes = {DType::float32, DType::float64, DType::int16,
                                 DType::int32, DType::int64};
  HEADWISE_ASSIGN(const auto stash, node.integer("stash_type", 1));
  if (stash != 1 && stash != 11) {
    return node.attribute("stash_type")
        .bad_data(message("is {}", stash), "1 (float32) or 11 (float64)");
  }
  const bool narrow = is_floating(node.in(0).dtype) && node.opset() >= 27;
  if (!narrow && std::ranges::find(kTypes, node.in(0).dtype) == kTypes.end()) {
    return wrong_type(node, 0, "float32, float64, int16, int32 or int64");
  }
  for (const std::size_t i : {kStart, kLimit, kDelta}) {
    HEADWISE_TRY(check_same_type(node, i));
    HEADWISE_TRY(check_one_element(node, i));
    if (!std::isfinite(doubles_of(node.in(i)).front())) {
      return node.input(i).error(ErrorCode::invalid_argument, "is not finite",
                                 "a finite number");
    }
  }
  return doubles_of(node.in(kDelta)).front() != 0
             ? ok()
             : Status(node.input(kDelta).error(ErrorCode::invalid_argument,
                                               "is 0", "a nonzero step"));
}

Result<Outputs> range_of_reals(const NodeCall& node) {
  const double start = doubles_of(node.in(kStart)).front();
  const double limit = doubles_of(node.in(kLimit)).front();
  const double delta = doubles_of(node.in(kDelta)).front();
  const double steps = std::ceil((limit - start) / delta);
  const std::size_t count = steps > 0x1p62
                                ? std::numeric_limits<std::size_t>::max()
                            : steps > 0 ? static_cast<std::size_t>(steps)
                                        : 0;
  HEADWISE_TRY(check_size(std::array{count}));
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = start + static_cast<double>(i) * delta;
  }
  return one(array_from(numbers, {count}, node.in(kStart).dtype));
}

// From `from` up to `to`, in steps of `by`.
std::size_t steps_between(std::uint64_t from, std::uint64_t to,
                          std::uint64_t by) {
  return (to - from - 1) / by + 1;
}

Result<Outputs> range_of_wholes(const NodeCall& node) {
  const DType dtype = node.in(kStart).dtype;
  const std::int64_t start = integers_of(node.in(kStart)).front();
  const std::int64_t limit = integers_of(node.in(kLimit)).front();
  const std::int64_t delta = integers_of(node.in(kDelta)).front();
  // Modulo 2^64, as the differences of int64 are.
  const auto first = static_cast<std::uint64_t>(start);
  const auto last = static_cast<std::uint64_t>(limit);
  const auto step = static_cast<std::uint64_t>(delta);
  const bool up = delta > 0;
  const bool empty = up ? limit <= start : limit >= start;
  const std::size_t count = empty ? 0
                            : up  ? steps_between(first, last, step)
                                  : steps_between(last, first, 0 - step);
  HEADWISE_TRY(check_size(std::array{count}));
  std::vector<std::int64_t> wholes(count);
  for (std::size_t i = 0; i < count; ++i) {
    wholes[i] = static_cast<std::int64_t>(first + i * step);
  }
  return one(array_from(wholes, {count}, dtype));
}

}  // namespace

Result<Outputs> run_range(const NodeCall& node) {
  HEADWISE_TRY(check_range(node));
  return is_floating(node.in(kStart).dtype) ? range_of_reals(node)
                                            : range_of_wholes(node);
}

}  // namespace headwise::inline HEADWISE_ABI
