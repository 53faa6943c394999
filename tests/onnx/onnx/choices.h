// Choices that bytes make: the first ones of a fuzzer's input, then those of a
// generator that begins with all of it, so that a few bytes are enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace headwise::testing_support {

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    for (const std::uint8_t byte : bytes) {
      state_ = (state_ ^ byte) * 0x100000001b3;  // FNV-1a
    }
  }

  std::uint8_t byte() {
    return at_ < bytes_.size() ? bytes_[at_++] : drawn() >> 56 & 0xff;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int i = 0; i < 8; ++i) {
      number = number << 8 | byte();
    }
    return number;
  }
  // 0 to count - 1.
  std::size_t below(std::size_t count) {
    return count <= 256 ? byte() % count : number() % count;
  }
  std::size_t from_to(std::size_t low, std::size_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Range>
  const auto& of(const Range& range) {
    return *(std::begin(range) +
             static_cast<std::ptrdiff_t>(below(static_cast<std::size_t>(
                 std::end(range) - std::begin(range)))));
  }
  template <class T>
  T of(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }

 private:
  std::uint64_t drawn() {  // SplitMix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace headwise::testing_support
