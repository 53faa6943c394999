// One number for the bits of many: FNV-1a over their words.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace headwise::testing_support {

class Checksum {
 public:
  void add(std::span<const float> numbers) {
    for (const float x : numbers) {
      const auto word = std::bit_cast<std::uint32_t>(x);
      for (int shift = 0; shift < 32; shift += 8) {
        sum_ = (sum_ ^ ((word >> shift) & 0xff)) * 0x100000001b3;
      }
    }
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

}  // namespace headwise::testing_support
