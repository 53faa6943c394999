#include "headwise/base/random.h"

#include <cmath>

#include "base/logarithm.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

struct WideProduct {
  std::uint32_t high;
  std::uint32_t low;
};

WideProduct wide_product(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = std::uint64_t{a} * b;
  return {high_word(product), low_word(product)};
}

// cos(2 pi t) for t in [0, 1): by symmetry an angle in [0, pi/4], then its
// power series.
double cosine_of_turns(double t) {
  constexpr double kTwoPi = 0x1.921fb54442d18p+2;
  const double from_zero = t > 0.5 ? 1 - t : t;  // [0, 1/2]
  const bool negative = from_zero > 0.25;
  const double folded = negative ? 0.5 - from_zero : from_zero;  // [0, 1/4]
  const bool is_sine = folded > 0.125;
  const double angle = kTwoPi * (is_sine ? 0.25 - folded : folded);
  const double square = angle * angle;
  double series = 1;
  for (int k = is_sine ? 17 : 16; k >= 2; k -= 2) {  // (pi/4)^18 / 18! < 2^-58
    series = 1 - series * square / (k * (k - 1));
  }
  const double magnitude = is_sine ? angle * series : series;
  return negative ? -magnitude : magnitude;
}

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr int kRounds = 10;
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < kRounds; ++round) {
    const WideProduct p0 = wide_product(kMultiplier0, counter[0]);
    const WideProduct p1 = wide_product(kMultiplier1, counter[2]);
    counter = {p1.high ^ counter[1] ^ key[0], p1.low,
               p0.high ^ counter[3] ^ key[1], p0.low};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

PhiloxCounter RandomStream::words(std::uint64_t index) const {
  // The last word is at least 1, which distinguishes these numbers from those
  // of dropout (steps/dropout.cc).
  constexpr std::uint32_t kParameters = 1;
  return philox4x32({low_word(index), high_word(index), low_word(stream_),
                     kParameters + high_word(stream_)},
                    {low_word(seed_.value), high_word(seed_.value)});
}

void RandomStream::fill_uniform(std::span<float> values, double low,
                                double high) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = words(i / 4)[i % 4];
    // 24 bits: the product and the sum round once each, in binary64.
    const double unit = static_cast<double>(word >> 8) * 0x1p-24;
    values[i] = static_cast<float>(low + unit * (high - low));
  }
}

void RandomStream::fill_normal(std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PhiloxCounter random = words(i);
    const double in_zero_one = (static_cast<double>(random[0]) + 1) * 0x1p-32;
    const double turns = static_cast<double>(random[1]) * 0x1p-32;
    values[i] = static_cast<float>(std::sqrt(-2 * natural_log(in_zero_one)) *
                                   cosine_of_turns(turns));
  }
}

}  // namespace headwise::inline HEADWISE_ABI
