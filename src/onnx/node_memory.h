// How much memory a node may take for what it makes. The operators run on the
// thread that runs the model, and the budget is that thread's.
#pragma once

#include <cstddef>

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
  static Status check(std::size_t bytes);
  static Status take(std::size_t bytes);
};

}  // namespace headwise::inline HEADWISE_ABI
