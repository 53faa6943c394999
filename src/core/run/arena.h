// Cuts memory into arrays on 64-byte boundaries. Over no memory it only counts:
// what lays a workspace out says how large it must be, too.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "headwise/base/checked_product.h"

namespace headwise::inline HEADWISE_ABI {

class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  // Null: count only.
  explicit Arena(std::byte* memory) : memory_(memory) {}

  // Room for the product of the extents.
  template <class T, class... Extents>
  T* take(Extents... extents) {
    static_assert(std::is_trivially_destructible_v<T>);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    const std::size_t factors[] = {extents..., sizeof(T)};
    constexpr std::size_t kMost =
        std::numeric_limits<std::size_t>::max() - kAlignment;
    const std::size_t needed = checked_product(factors).value_or(kMost);
    if (needed >= kMost || bytes_ > kMost - needed) {
      bytes_ = std::numeric_limits<std::size_t>::max();
      return nullptr;
    }
    T* array =
        memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (needed + kAlignment - 1) / kAlignment * kAlignment;
    return array;
  }

  // Taken so far; the largest number there is when that is too much.
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

// What T(args..., arena) takes.
template <class T, class... Args>
std::size_t bytes_taken(const Args&... args) {
  Arena arena(nullptr);
  [[maybe_unused]] const T object(args..., arena);
  return arena.bytes();
}

// Objects that take their memory from the arena, side by side in it.
template <class T, class... Args>
std::span<T> make_array(Arena& arena, std::size_t count, const Args&... args) {
  T* place = arena.take<T>(count);
  if (place == nullptr) {
    arena.take<std::byte>(count, bytes_taken<T>(args...));
    return {};
  }
  for (std::size_t n = 0; n < count; ++n) {
    std::construct_at(place + n, args..., arena);
  }
  return {place, count};
}

}  // namespace headwise::inline HEADWISE_ABI
