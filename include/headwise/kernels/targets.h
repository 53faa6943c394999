// The instruction sets that the kernels can use on this processor.
//
// The environment variable HEADWISE_TARGET forces one, by the names below.
// HEADWISE_BF16=emulated turns the processor's products of bfloat16 off.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Those that are built into the library and available on the processor, by
// Highway's names in lower case ("avx3", "avx2", "neon", ...), best first.
std::vector<std::string> available_targets();

// The one in use: the best, or the forced one. Errors: unsupported if
// HEADWISE_TARGET names one that is not available; the message lists those that
// are.
Result<std::string> current_target();

// Returns only the errors of current_target(), and unsupported for another
// HEADWISE_BF16 than "emulated". Cheap enough for every call.
Status check_target();

// Whether Arithmetic::bf16 uses the processor's dot products of bfloat16
// (AVX512-BF16); elsewhere fused multiply-adds give the same bits. Errors:
// those of check_target().
Result<bool> native_bf16();

// What multiplies the projections of Arithmetic::bf16: "avx512_bf16" if
// native_bf16(), otherwise "emulated". Errors: those of check_target().
Result<std::string> bf16_projections();

// Whether the kernels of `target` keep the promise of the same bits
// (docs/arithmetic.md): those with fused multiply-add do.
bool promises_same_bits(const std::string& target);

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI::kernels {

// The peak of this processor, so that a kernel's speed can be given as a share
// of it: multiply-adds that never wait, and memory that is only read. The
// caller measures the time, in the calling thread.
//
// Example:
//   const double start = seconds();
//   const double operations = kernels::run_multiply_adds(1 << 20);
//   const double peak = operations / (seconds() - start);  // in FLOP/s

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
