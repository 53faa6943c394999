#include "onnx/heap_use.h"

#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>

namespace headwise::testing_support {
namespace {

std::atomic<std::int64_t> in_use = 0;
std::atomic<std::int64_t> most_in_use = 0;

void taken(const volatile void* /*block*/, std::size_t bytes) {
  const std::int64_t now = in_use += static_cast<std::int64_t>(bytes);
  std::int64_t most = most_in_use;
  while (now > most && !most_in_use.compare_exchange_weak(most, now)) {
  }
}

void given_back(const volatile void* block) {
  in_use -= static_cast<std::int64_t>(
      __sanitizer_get_allocated_size(const_cast<const void*>(block)));
}

}  // namespace

HeapUse::HeapUse() {
  static const int kInstalled =
      __sanitizer_install_malloc_and_free_hooks(taken, given_back);
  static_cast<void>(kInstalled);
  before_ = in_use;
  most_in_use = before_;
}

std::int64_t HeapUse::most() const { return most_in_use - before_; }

}  // namespace headwise::testing_support
