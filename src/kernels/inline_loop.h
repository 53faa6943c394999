// The inner loops become a part of what calls them, except in sanitized builds:
// there clang takes three times as long to compile them so
// (docs/decisions/013-tests-in-ci.md).
#pragma once

#include <hwy/highway.h>

#ifdef HEADWISE_LOOPS_APART
#define HEADWISE_INLINE_LOOP HWY_NOINLINE
#else
#define HEADWISE_INLINE_LOOP HWY_INLINE
#endif
