// From tensors whose type is known when a call runs to one type in C++.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/for_number_type.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"

namespace headwise::inline HEADWISE_ABI {

// What body(T()) returns for the type T of all tensors, which have four axes.
// One may be missing. Errors: shape_mismatch; invalid_argument for another
// type.
template <class Body>
Status for_one_type(
    std::string_view operation,
    std::initializer_list<std::pair<std::string_view, const TensorArg&>>
        tensors,
    const Body& body) {
  const DType given = tensors.begin()->second.dtype();
  const DType expected = is_narrow(given) ? given : DType::float32;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.given() && tensor.dtype() != expected) {
      return internal::argument_error(
          operation, name, message("is of type {}", name_of(tensor.dtype())),
          name_of(expected));
    }
    if (tensor.given() && tensor.rank() != 4) {
      return internal::argument_error(operation, name,
                                      message("has {} axes", tensor.rank()),
                                      "4", ErrorCode::shape_mismatch);
    }
  }
  return for_number_type(expected, body);
}

}  // namespace headwise::inline HEADWISE_ABI
