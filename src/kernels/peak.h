// What this processor can do at best, so that a kernel's speed can be told as a
// share of it: multiply-adds that wait for nothing, and memory that is only
// read. The caller takes the time, in the thread that runs the loop.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Multiplies and adds in registers, on the whole vectors of the instruction set
// in use. Returns how many floating-point operations that was: a multiply-add
// is two.
double run_multiply_adds(std::size_t turns);

// Loads every element once.
void read_all(std::span<const float> elements);

}  // namespace headwise::inline HEADWISE_ABI::kernels
