#include <cstdint>

#include "headwise/run/workspace.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace headwise::inline HEADWISE_ABI {

void prefer_large_pages([[maybe_unused]] void* memory,
                        [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (begin + bytes) / kPage * kPage;
  if (first < end) {
    // A refusal changes nothing but time.
    madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace headwise::inline HEADWISE_ABI
