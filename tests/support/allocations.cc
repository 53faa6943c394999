#include "support/allocations.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace headwise::testing_support {

std::int64_t& failing_allocation() {
  thread_local std::int64_t failing = 0;
  return failing;
}
std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> live_bytes = 0;
std::atomic<std::size_t> peak_bytes = 0;

}  // namespace headwise::testing_support

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  ++headwise::testing_support::allocations;
  std::int64_t& failing = headwise::testing_support::failing_allocation();
  if (failing > 0 && --failing == 0) {
    return nullptr;
  }
  const std::size_t whole = (size + alignment) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole);
  using headwise::testing_support::live_bytes;
  using headwise::testing_support::peak_bytes;
  const std::size_t live = live_bytes += ::malloc_usable_size(memory);
  std::size_t peak = peak_bytes;
  while (peak < live && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}
void release(void* memory) {
  headwise::testing_support::live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}
void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, 16); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 16);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  release(memory);
}
