// How much memory a reader takes: link allocations.cc.
#pragma once

#include <cstddef>
#include <string>

#include "support/allocations.h"

namespace headwise::testing_support {

// Large enough for what every call takes to be nothing beside it.
inline constexpr std::size_t kCostlyFileBytes = std::size_t{3} << 20;

// Times the size of the text that `work` took of memory.
template <class Work>
double memory_of(std::size_t size, const Work& work) {
  const std::size_t before = live_bytes;
  peak_bytes = before;
  work();
  return static_cast<double>(peak_bytes - before) / static_cast<double>(size);
}

// `start`, then what `piece` gives of 0, 1, 2, .. as often as there is room.
template <class Piece>
std::string repeated(std::string_view start, std::string_view between,
                     const Piece& piece) {
  std::string text(start);
  for (std::size_t n = 0; text.size() < kCostlyFileBytes; ++n) {
    if (n > 0) {
      text += between;
    }
    text += piece(n);
  }
  return text;
}

// A text of few characters for each number, all of them letters of JSON.
inline std::string short_name(std::size_t n) {
  std::string name;
  for (; n > 0; n /= 64) {
    name += static_cast<char>('0' + n % 64);
    if (name.back() == '\\') {
      name.back() = '!';
    }
  }
  return name;
}

}  // namespace headwise::testing_support
