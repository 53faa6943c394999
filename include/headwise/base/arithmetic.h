// The numbers that attention and projections multiply (docs/arithmetic.md).
#pragma once

#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Arithmetic {
  exact,  // float32
  // What is multiplied is rounded to bfloat16 first, to nearest even; products
  // are added up in float32. Softmax, biases and everything else are float32.
  bf16,
};

constexpr std::string_view name_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 ? "bf16" : "exact";
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
