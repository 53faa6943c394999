// The peak of this processor, so that a kernel's speed can be given as a share
// of it: multiply-adds that never wait, and memory that is only read. The
// caller measures the time, in the calling thread.
//
// Example:
//   const double start = seconds();
//   const double operations = kernels::run_multiply_adds(1 << 20);
//   const double peak = operations / (seconds() - start);  // in FLOP/s
#pragma once

#include <cstddef>
#include <span>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI::kernels {

// Multiplies and adds in registers, with whole vectors of the instruction set
// in use. Returns the number of floating-point operations; a multiply-add is
// two.
double run_multiply_adds(std::size_t turns);

// The same with the products of Arithmetic::bf16: pairs of bfloat16, by the
// processor's dot product or, where it has none or HEADWISE_BF16=emulated turns
// it off, by two fused multiply-adds.
double run_pair_products(std::size_t turns);

// Loads every element once.
void read_all(std::span<const float> elements);

}  // namespace headwise::inline HEADWISE_ABI::kernels
#pragma GCC visibility pop
