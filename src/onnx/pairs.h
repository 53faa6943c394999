// Operators on pairs of elements of two inputs that are broadcast against each
// other.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "onnx/broadcast.h"
#include "onnx/node_call.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {

// `a` and `b`: the elements of the first two inputs. `shape`: what they are
// broadcast to. `made`: the type of the result.
template <class T, class Combine>
Result<Array> combined(const NodeCall& node, std::vector<std::size_t> shape,
                       const std::vector<T>& a, const std::vector<T>& b,
                       DType made, Combine combine) {
  HEADWISE_TRY(check_size(shape));
  using Number = std::conditional_t<
      std::is_same_v<std::invoke_result_t<Combine, T, T>, double>, double,
      std::int64_t>;
  std::vector<Number> result;
  result.reserve(element_count(shape));
  const auto steps_a = broadcast_strides(node.in(0).shape, shape);
  const auto steps_b = broadcast_strides(node.in(1).shape, shape);
  for (Odometer at(shape); !at.done(); at.next()) {
    result.push_back(combine(a[at.offset(steps_a)], b[at.offset(steps_b)]));
  }
  return array_from(result, std::move(shape), made);
}

}  // namespace headwise::inline HEADWISE_ABI
