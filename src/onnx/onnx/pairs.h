// Operators on pairs of elements of two inputs that are broadcast against each
// other.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "onnx/broadcast.h"
#include "onnx/node_call.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {

// `a` and `b`: the elements of the first two inputs. `shape`: what they are
// broadcast to. `made`: the type of the result.
template <class T, class Combine>
Result<Array> combined(const NodeCall& node, std::vector<std::size_t> shape,
                       const std::vector<T>& a, const std::vector<T>& b,
                       DType made, Combine combine) {
  HEADWISE_ASSIGN(auto result, array_of(std::move(shape), made));
  using Number = std::conditional_t<
      std::is_same_v<std::invoke_result_t<Combine, T, T>, double>, double,
      std::int64_t>;
  const auto steps_a = broadcast_strides(node.in(0).shape, result.shape);
  const auto steps_b = broadcast_strides(node.in(1).shape, result.shape);
  std::size_t i = 0;
  for (Odometer at(result.shape); !at.done(); at.next(), ++i) {
    const Number number = combine(a[at.offset(steps_a)], b[at.offset(steps_b)]);
    store(std::span(&number, 1), result, i);
  }
  return result;
}

}  // namespace headwise::inline HEADWISE_ABI
