// A call that ran out of memory is an error as any other: no public function
// that returns a Status or a Result throws by itself.
#pragma once

#include <new>
#include <stdexcept>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// For the handler of a function body:
//
//   Status step(...) try {
//     ...
//   } catch (...) {
//     return caught_out_of_memory();
//   }
//
// Throws on what a callback threw.
inline Error caught_out_of_memory() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // longer than a vector can be
  }
  return ErrorCode::out_of_memory;  // without details, which take memory
}

// What `work` returns, or out_of_memory when it ran out.
template <class Work>
auto catching_out_of_memory(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return caught_out_of_memory();
  }
}

}  // namespace headwise::inline HEADWISE_ABI
