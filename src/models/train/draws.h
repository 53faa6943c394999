// Random whole numbers of one generated sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "headwise/base/random.h"

namespace headwise::inline HEADWISE_ABI {

class Draws {
 public:
  Draws(Seed seed, std::uint64_t sequence) : seed_(seed), sequence_(sequence) {}

  // From 0 to limit - 1.
  std::size_t below(std::size_t limit) {
    // The last word sets these numbers apart from those of parameters and
    // dropout.
    constexpr std::uint32_t kSequences = 2;
    if (drawn_ % words_.size() == 0) {
      words_ = philox4x32({static_cast<std::uint32_t>(sequence_),
                           static_cast<std::uint32_t>(sequence_ >> 32),
                           static_cast<std::uint32_t>(drawn_), kSequences},
                          {static_cast<std::uint32_t>(seed_.value),
                           static_cast<std::uint32_t>(seed_.value >> 32)});
    }
    const std::uint64_t word = words_[drawn_++ % words_.size()];
    return static_cast<std::size_t>((word * limit) >> 32);
  }

  // `count` different numbers from 0 to limit - 1.
  std::vector<std::size_t> different(std::size_t count, std::size_t limit) {
    std::vector<std::size_t> all(limit);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::size_t n = 0; n < count; ++n) {
      std::swap(all[n], all[n + below(limit - n)]);
    }
    all.resize(count);
    return all;
  }

 private:
  Seed seed_;
  std::uint64_t sequence_;
  std::size_t drawn_ = 0;
  PhiloxCounter words_{};
};

}  // namespace headwise::inline HEADWISE_ABI
