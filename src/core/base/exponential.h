// The exponential in binary64 without a C library: the same bits on every
// machine.
#pragma once

#include "headwise/version.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// e^x for x <= 0, +0 below -708; NaN gives NaN. The relative error is at most
// 5e-16.
double exponential(double x);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
