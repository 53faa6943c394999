// What multiplies bfloat16 numbers: the processor's best instructions, or what
// HEADWISE_BF16 in the environment asks for. The environment is read once.
#pragma once

#include <optional>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

enum class Bf16Choice { best, emulated };

// Nothing if HEADWISE_BF16 has a value that is not allowed.
std::optional<Bf16Choice> bf16_choice();

// Whether pairs are multiplied by the dot product of AVX512-BF16.
bool native_pairs();

}  // namespace headwise::inline HEADWISE_ABI::kernels
