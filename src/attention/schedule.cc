#include "headwise/attention/schedule.h"

#include <algorithm>

#include "attention/query_tile.h"

namespace headwise {
namespace {

// So many multiplications and additions are worth another thread.
constexpr double kWorkOfAThread = 5e5;
// So many tasks a worker, and the last ones end at nearly the same time.
constexpr std::size_t kTasksOfAWorker = 8;
// Queries that read a block of keys while it is in the second-level cache.
constexpr std::size_t kQueriesAtOnce = 192;

std::size_t workers_for(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  double work = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    work += static_cast<double>(place.Lq) * static_cast<double>(place.Lkv);
  }
  work *= 2.0 * static_cast<double>(shape.Hq) *
          static_cast<double>(shape.D + shape.Dv);
  const auto threads = static_cast<double>(spec.executor->threads());
  return static_cast<std::size_t>(
      std::clamp(work / kWorkOfAThread, 1.0, std::max(threads, 1.0)));
}

}  // namespace

Schedule schedule_of(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  const std::size_t workers = workers_for(spec);
  if (spec.attn_weights == AttnWeights::mean) {
    return {Schedule::Split::tiles_of_heads, workers, 1};
  }
  const std::size_t queries = kernels::attention_tile().query_lanes;
  const std::size_t most =
      BlockScores::kept(spec) ? 1 : kQueriesAtOnce / queries;
  // Whole heads, where there are enough of them that one more for some workers
  // does not show, or those of one sequence, alike, fall evenly to all.
  const std::size_t heads = shape.B * shape.Hkv;
  if (workers == 1 || heads >= kTasksOfAWorker * workers ||
      (heads >= 2 * workers && heads % workers == 0 && shape.B == 1)) {
    return {Schedule::Split::key_heads, workers, most};
  }
  const std::size_t tiles =
      shape.B * shape.Hq * ((shape.Lq + queries - 1) / queries);
  return {
      Schedule::Split::tiles, workers,
      std::clamp<std::size_t>(tiles / (kTasksOfAWorker * workers), 1, most)};
}

}  // namespace headwise
