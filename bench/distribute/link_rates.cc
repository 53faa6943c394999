#include "link_rates.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace headwise {
namespace {

// As large as a chunk of 3,072 keys and values of 8 heads of 64 features.
constexpr std::size_t kMessageBytes = std::size_t{2} * 3072 * 8 * 64 * 4;
constexpr int kMessages = 11;

// The median of several messages along the ring.
Result<double> seconds_of(Communicator& group, std::size_t bytes) {
  const std::vector<std::byte> out(bytes, std::byte{1});
  std::vector<std::byte> in(bytes);
  const std::size_t next = (group.rank() + 1) % group.ranks();
  const std::size_t before = (group.rank() + group.ranks() - 1) % group.ranks();
  std::vector<double> seconds;
  for (int n = 0; n < kMessages; ++n) {
    HEADWISE_TRY(group.barrier());
    const auto begin = std::chrono::steady_clock::now();
    auto departure = group.start_send(out, next);
    HEADWISE_TRY(departure);
    HEADWISE_TRY(group.receive(in, before));
    HEADWISE_TRY(group.finish(*departure));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(seconds);
  return seconds[kMessages / 2];
}

}  // namespace

Result<LinkRates> measure_links(Communicator& group) {
  const auto latency = seconds_of(group, 1);
  HEADWISE_TRY(latency);
  const auto seconds = seconds_of(group, kMessageBytes);
  HEADWISE_TRY(seconds);
  return LinkRates{
      static_cast<double>(kMessageBytes) / std::max(*seconds - *latency, 1e-9),
      *latency};
}

}  // namespace headwise
