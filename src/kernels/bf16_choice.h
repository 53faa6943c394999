// What multiplies bfloat16 numbers: the processor's best instructions that keep
// the bits of all processors, or what HEADWISE_BF16 in the environment asks
// for. The environment is read once.
#pragma once

#include <optional>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// `amx` is for projections; the rest, and projections where there is no AMX,
// are multiplied as in `best`. `amx_emulated` is for tests.
enum class Bf16Choice { best, emulated, amx, amx_emulated };

// Nothing if HEADWISE_BF16 has a value that is not allowed.
std::optional<Bf16Choice> bf16_choice();

// Whether pairs are multiplied by the dot product of AVX512-BF16.
bool native_pairs();

// The tiles that multiply projections (amx_tiles-inl.h).
enum class Bf16Tiles { none, processor, emulated };
Bf16Tiles bf16_tiles();

}  // namespace headwise::inline HEADWISE_ABI::kernels
