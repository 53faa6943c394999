#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/prune/pruned_accuracy.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kTenths = 9;
constexpr std::uint32_t kOrderStream = 9;

std::size_t tenths_of(std::size_t heads, std::size_t tenths) {
  return (heads * tenths + 5) / 10;
}

// All heads, in an order that depends only on the seed and the number.
std::vector<HeadId> random_order(std::vector<HeadId> heads, Seed seed,
                                 std::size_t number) {
  std::vector<float> keys(heads.size());
  RandomStream(seed, kOrderStream).substream(number).fill_uniform(keys, 0, 1);
  std::ranges::sort(heads);
  std::vector<std::size_t> places(heads.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t n) { return keys[n]; });
  std::vector<HeadId> order;
  for (const std::size_t n : places) {
    order.push_back(heads[n]);
  }
  return order;
}

}  // namespace

Result<std::vector<CurvePoint>> accuracy_curve(
    const std::vector<HeadId>& order, PrunedAccuracy& accuracy,
    const AccuracyCurveOptions& options) try {
  std::vector<CurvePoint> curve;
  for (std::size_t tenths = 0; tenths <= kTenths; ++tenths) {
    curve.push_back({tenths_of(order.size(), tenths), {}, {}});
  }
  const std::size_t orders = 1 + options.random_orders;
  // Order by order: each point continues from the model of the one before.
  for (std::size_t n = 0; n < orders; ++n) {
    const std::vector<HeadId> heads =
        n == 0 ? order : random_order(order, options.seed, n);
    const std::string name = n == 0 ? "scores" : "random " + std::to_string(n);
    for (std::size_t at = 0; at < curve.size(); ++at) {
      HEADWISE_ASSIGN(auto answers,
                      accuracy.without(heads, curve[at].removed, name));
      if (n == 0) {
        curve[at].by_score = std::move(answers);
      } else {
        curve[at].random.push_back(answers.accuracy());
      }
      if (options.progress) {
        options.progress(n * curve.size() + at + 1, orders * curve.size());
      }
    }
  }
  return curve;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
