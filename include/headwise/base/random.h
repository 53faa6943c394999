// Counter-based random numbers: the value at an index is a function of the
// seed, the stream and the index alone, so the numbers are the same on every
// machine, in any order and on any number of threads.
//
// Source: Philox4x32-10, Salmon et al. 2011, "Parallel random numbers: as easy
// as 1, 2, 3"; normal numbers after Box & Muller 1958.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct Seed {
  std::uint64_t value = 0;
};

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Four random words for one counter.
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

// A sequence of random numbers; streams of one seed are independent.
class RandomStream {
 public:
  RandomStream(Seed seed, std::uint32_t stream)
      : seed_(seed), stream_(stream) {}

  // Another stream of the same seed; `part`, below 2^47, tells the substreams
  // of one stream (below 2^16) apart.
  RandomStream substream(std::uint64_t part) const {
    RandomStream other = *this;
    other.stream_ += part << 16;
    return other;
  }

  // values[i] uniform in [low, high).
  void fill_uniform(std::span<float> values, double low, double high) const;
  // values[i] normal with mean 0 and standard deviation 1. No libm: the same
  // bits everywhere.
  void fill_normal(std::span<float> values) const;

 private:
  HEADWISE_HIDDEN PhiloxCounter words(std::uint64_t index) const;

  Seed seed_;
  std::uint64_t stream_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
