// The query, key and value of a call, or their gradients, in one type.
#pragma once

#include <cstddef>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"
#include "operation/number_type.h"
#include "run_inputs.h"

namespace headwise::cli {

template <class T, std::size_t Rank>
struct Operands {
  Tensor<T, Rank> query;
  Tensor<T, Rank> key;
  Tensor<T, Rank> value;
};

// Those that three results hold. Errors: the first of theirs.
template <class T, std::size_t Rank>
Result<Operands<T, Rank>> operands_of(Result<Tensor<T, Rank>> query,
                                      Result<Tensor<T, Rank>> key,
                                      Result<Tensor<T, Rank>> value) {
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  return Operands<T, Rank>{*std::move(query), *std::move(key),
                           *std::move(value)};
}

// What the files hold. Errors: those of to_float().
template <std::size_t Rank>
Result<Operands<float, Rank>> read_operands(const InputArrays& arrays) {
  return operands_of(to_float<Rank>(arrays.query, "run", "--query"),
                     to_float<Rank>(arrays.key, "run", "--key"),
                     to_float<Rank>(arrays.value, "run", "--value"));
}

// (B, L, H, D) of a tensor in the layout of the files.
template <class T>
TensorView<T, 4> as_extents(const TensorView<T, 4>& tensor, bool heads_first) {
  return heads_first ? as_blhd(tensor) : tensor;
}

// In T, and back. Errors: out_of_memory.
template <class T, std::size_t Rank>
Result<Operands<T, Rank>> narrow(Operands<float, Rank> of) {
  return operands_of(narrow<T>(std::move(of.query)),
                     narrow<T>(std::move(of.key)),
                     narrow<T>(std::move(of.value)));
}
template <class T, std::size_t Rank>
Result<Operands<float, Rank>> widen(Operands<T, Rank> of) {
  return operands_of(widen<T>(std::move(of.query)), widen<T>(std::move(of.key)),
                     widen<T>(std::move(of.value)));
}

}  // namespace headwise::cli
