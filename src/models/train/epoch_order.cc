#include "train/epoch_order.h"

#include <algorithm>
#include <numeric>

namespace headwise::inline HEADWISE_ABI {
namespace {

std::uint64_t random_key(Seed seed, std::uint32_t epoch, std::uint64_t n) {
  // The last word sets these numbers apart from those of parameters, dropout
  // and the sequences of a task.
  constexpr std::uint32_t kExamples = 3;
  const PhiloxCounter words =
      philox4x32({static_cast<std::uint32_t>(n),
                  static_cast<std::uint32_t>(n >> 32), epoch, kExamples},
                 {static_cast<std::uint32_t>(seed.value),
                  static_cast<std::uint32_t>(seed.value >> 32)});
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace

std::vector<std::size_t> epoch_order(Seed seed, std::uint32_t epoch,
                                     std::size_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t n = 0; n < count; ++n) {
    keys[n] = random_key(seed, epoch, n);
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Stable, so that equal keys, however unlikely, give the same order
  // everywhere.
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return keys[n]; });
  return order;
}

}  // namespace headwise::inline HEADWISE_ABI
