// The floating-point environment of every thread that computes: round to
// nearest, denormal numbers flushed to zero. Put back as it was found.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>

#include "headwise/version.h"
#endif

namespace headwise::inline HEADWISE_ABI {

class FloatEnvironment {
 public:
#if defined(__SSE__)
  FloatEnvironment() : found_(_mm_getcsr()) {
    constexpr unsigned kExceptionsMasked = 0x1F80;
    constexpr unsigned kFlushToZero = 0x8040;  // results and inputs
    _mm_setcsr(kExceptionsMasked | kFlushToZero);
  }
  ~FloatEnvironment() { _mm_setcsr(found_); }
#elif defined(__aarch64__)
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(found_));
    constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;
    set(kFlushToZero);  // round to nearest, no exception traps
  }
  ~FloatEnvironment() { set(found_); }
#else
  FloatEnvironment() = default;
  ~FloatEnvironment() = default;
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE__)
  unsigned found_;
#elif defined(__aarch64__)
  static void set(std::uint64_t fpcr) {
    asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
  }
  std::uint64_t found_;
#endif
};

// Keeps the caller's exception flags, which are sticky: oneTBB sets the control
// word of a thread that waits for a loop anew, without them.
class RaisedFlags {
 public:
#if defined(__SSE__)
  RaisedFlags() : raised_(_mm_getcsr() & 0x3f) {}
  ~RaisedFlags() { _mm_setcsr(_mm_getcsr() | raised_); }
#else
  RaisedFlags() = default;
  ~RaisedFlags() = default;
#endif
  RaisedFlags(const RaisedFlags&) = delete;
  RaisedFlags& operator=(const RaisedFlags&) = delete;

 private:
#if defined(__SSE__)
  unsigned raised_;
#endif
};

}  // namespace headwise::inline HEADWISE_ABI
