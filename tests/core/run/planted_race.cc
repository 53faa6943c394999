// Two threads of an executor write one variable. The thread sanitizer must find
// it: otherwise its silence about the other tests would mean nothing.
#include <cstddef>

#include "headwise/run/executor.h"

int main() {
  // So many parts, each written (volatile: not their sum), that the second
  // thread has come before they are done.
  constexpr std::size_t kParts = 1 << 20;
  volatile std::size_t shared = 0;
  headwise::Executor::with_threads(2).value().parallel_for(
      kParts, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          shared = shared + 1;
        }
      });
  return shared == 0 ? 1 : 0;
}
