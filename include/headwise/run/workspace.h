// The memory that a plan needs: allocated once, used by any number of runs, one
// at a time.
//
// Example:
//   Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
//   Status s = plan.run(q, k, v, {.output = out}, workspace);
#pragma once

#include <cstddef>
#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Workspace {
 public:
  // Errors: out_of_memory.
  static Result<Workspace> create(std::size_t bytes);

  std::size_t bytes() const { return bytes_; }
  // 64-byte aligned.
  std::byte* data() { return memory_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* memory) const;
  };

  Workspace(std::byte* memory, std::size_t bytes)
      : memory_(memory), bytes_(bytes) {}

  std::unique_ptr<std::byte, Delete> memory_;
  std::size_t bytes_;
};

// Asks the system for large pages, for memory that has not been written to yet:
// its first use then costs one fault of the processor for 2 MiB instead of 512.
// If there are none, nothing happens.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
