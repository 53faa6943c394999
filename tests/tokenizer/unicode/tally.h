// What is true of how many characters: short enough to write down.
#pragma once

#include <cstdint>
#include <ostream>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// How many, and their sum.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  bool operator==(const Tally&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Tally& tally) {
  return out << tally.count << " with the sum " << tally.sum;
}

template <class Visit>
void for_each_character(const Visit& visit) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code < 0xD800 || code > 0xDFFF) {
      visit(code);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
