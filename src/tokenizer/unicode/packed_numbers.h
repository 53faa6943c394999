// The form of the tables that tools/unicode_tables.py writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Reads numbers of printable characters, lowest digit first. A digit of 70 or
// more has another one behind it, which counts 22 times as much.
class PackedNumbers {
 public:
  explicit PackedNumbers(const char* at) : at_(at) {}

  bool is_at_end() const { return *at_ == 0; }

  std::uint32_t next() {
    std::uint32_t number = 0;
    for (std::uint32_t unit = 1;; unit *= 22) {
      at_ += *at_ == '\n' ? 1 : 0;
      const auto digit = static_cast<std::uint32_t>(*at_++ - '#');
      number += unit * digit;
      if (digit < 70) {
        return number;
      }
    }
  }

  // Signed (0, -1, 1, -2 and so on), modulo 2^32: to be added.
  std::uint32_t next_difference() {
    const std::uint32_t number = next();
    return number / 2 ^ (0U - number % 2);
  }

 private:
  const char* at_;
};

// A number below 256 for each code of a character. The first one asked for
// unpacks all: programs without tokenizers need not start more slowly.
class CodeTable {
 public:
  static constexpr std::size_t kCodes = 0x110000;

  constexpr explicit CodeTable(const char* runs) : runs_(runs) {}

  unsigned operator[](char32_t code) const {
    const std::uint8_t* values = values_.load(std::memory_order_acquire);
    return (values != nullptr ? values : unpack())[code];
  }

  // Calls visit(length, value) for each run of codes with the same value. A run
  // is packed as its length and the place of its value among the recent ones.
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    std::uint8_t recent[256];  // the latest first
    std::iota(recent, recent + 256, std::uint8_t{255});
    PackedNumbers numbers(runs_);
    while (!numbers.is_at_end()) {
      const std::uint32_t run = numbers.next();
      const std::uint32_t near = run % 6 + 1;
      const std::uint32_t place = near < 6 ? near : near + numbers.next();
      const std::uint8_t value = recent[place];
      std::copy_backward(recent, recent + place, recent + place + 1);
      recent[0] = value;
      visit(run / 6 + 1, value);
    }
  }

 private:
  const std::uint8_t* unpack() const;

  const char* runs_;
  mutable std::atomic<const std::uint8_t*> values_ = nullptr;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
