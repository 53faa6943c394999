// The floating-point environment of every thread that computes: round to
// nearest, denormal numbers flushed to zero. Put back as it was found.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace headwise {

class FloatEnvironment {
 public:
#if defined(__SSE__)
  FloatEnvironment() : found_(_mm_getcsr()) {
    constexpr unsigned kExceptionsMasked = 0x1F80;
    constexpr unsigned kFlushToZero = 0x8040;  // results and inputs
    _mm_setcsr(kExceptionsMasked | kFlushToZero);
  }
  ~FloatEnvironment() { _mm_setcsr(found_); }
#else
  FloatEnvironment() = default;
  ~FloatEnvironment() = default;
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE__)
  unsigned found_;
#endif
};

}  // namespace headwise
