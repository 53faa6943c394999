// Whether this process may use the tiles of AMX.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// Whether the processor has the tiles and their products of bfloat16, and the
// operating system keeps and permits them. Asks Linux for the permission, which
// all threads of the process then have.
bool request_amx();

}  // namespace headwise::inline HEADWISE_ABI::kernels
