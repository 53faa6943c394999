// How much memory a node may take for what it makes and for the numbers that it
// computes with. The operators run on the thread that runs the model, and the
// budget is that thread's.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// While one lives, the arrays that this thread makes for ONNX take their bytes
// from it; without one they are unlimited.
class NodeMemory {
 public:
  explicit NodeMemory(std::size_t bytes);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  // Errors: out_of_memory, with the bytes, if so many are not left.
  static Status take(std::size_t bytes);

  // The same as an exception, which whoever runs the node catches.
  struct Exceeded : std::bad_alloc {
    explicit Exceeded(std::size_t needed) : bytes(needed) {}
    std::size_t bytes;
  };
  static void use(std::size_t bytes);

  // Zeros to compute with. Throws Exceeded.
  template <class T>
  static std::vector<T> numbers(std::size_t count) {
    use(count * sizeof(T));
    return std::vector<T>(count);
  }
};

}  // namespace headwise::inline HEADWISE_ABI
