#include "attention/tasks.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>

#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Multiplications and additions per thread below which another thread does
// not pay.
constexpr double kWorkOfAThread = 5e5;
// A feature of an additive score takes a tangent: about 20 instructions.
constexpr double kWorkOfATangent = 20;

double pairs_of(const SequencePlace& place) {
  return static_cast<double>(place.Lq) * static_cast<double>(place.Lkv);
}

// Pairs of a query and a key. An empty padded batch may have any number of
// sequences, too many to visit.
double pairs_of(const AttentionShape& shape) {
  if (!shape.offsets.ragged()) {
    return static_cast<double>(shape.B) * pairs_of(shape.sequence(0));
  }
  double pairs = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    pairs += pairs_of(shape.sequence(b));
  }
  return pairs;
}

}  // namespace

std::size_t workers_for(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  const double work =
      pairs_of(shape) * 2.0 * static_cast<double>(shape.Hq) *
      ((spec.additive() ? kWorkOfATangent : 1) * static_cast<double>(shape.D) +
       static_cast<double>(shape.Dv));
  const auto threads = static_cast<double>(spec.executor->threads());
  return static_cast<std::size_t>(
      std::clamp(work / kWorkOfAThread, 1.0, std::max(threads, 1.0)));
}

bool heads_suffice(const AttentionSpec& spec, std::size_t workers) {
  const AttentionShape& shape = spec.shape;
  const std::size_t heads = shape.B * shape.Hkv;
  return workers == 1 || heads >= kTasksOfAWorker * workers ||
         (heads >= 2 * workers && heads % workers == 0 && shape.B == 1 &&
          shape.largest_group() * shape.Hkv == shape.Hq);
}

void for_each_task(
    const Executor& executor, std::size_t workers, std::size_t count,
    FunctionRef<void(std::size_t worker, std::size_t task)> work) {
  std::atomic<std::size_t> next = 0;
  executor.run_workers(std::min(workers, count), [&](std::size_t worker) {
    const FloatEnvironment environment;
    for (std::size_t task = next++; task < count; task = next++) {
      work(worker, task);
    }
  });
}

void order_sequences(const AttentionSpec& spec, std::size_t workers,
                     std::span<std::size_t> order) {
  std::iota(order.begin(), order.end(), 0);
  const auto work = [&](std::size_t b) {
    const SequencePlace place = spec.shape.sequence(b);
    return place.Lq * spec.mask.visible_end(b, 0, place.Lq);
  };
  if (workers > 1) {
    std::ranges::sort(order, std::greater(), work);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
