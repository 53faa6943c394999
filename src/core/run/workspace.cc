#include "headwise/run/workspace.h"

#include <limits>
#include <new>

#include "base/out_of_memory.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

Result<Workspace> Workspace::create(std::size_t bytes) try {
  // Beyond that even the allocator's own arithmetic may overflow.
  constexpr auto kMost =
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  auto* memory =
      bytes > kMost
          ? nullptr
          : static_cast<std::byte*>(::operator new (
                bytes, std::align_val_t{Arena::kAlignment}, std::nothrow));
  if (memory == nullptr) {
    return Error::no_memory_for(bytes);
  }
  return Workspace(memory, bytes);
} catch (...) {
  return caught_out_of_memory();
}

void Workspace::Delete::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{Arena::kAlignment});
}

}  // namespace headwise::inline HEADWISE_ABI
