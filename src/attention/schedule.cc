#include "headwise/attention/schedule.h"

#include <algorithm>

#include "attention/query_tile.h"

namespace headwise {
namespace {

// So many multiplications and additions are worth another thread.
constexpr double kWorkOfAThread = 5e5;
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
  const std::size_t workers = workers_for(spec);
  const std::size_t tiles_at_once =
      BlockScores::kept(spec)
          ? 1
          : kQueriesAtOnce / kernels::attention_tile().query_lanes;
  if (spec.attn_weights == AttnWeights::mean) {
    return {Schedule::Split::tiles_of_heads, workers, 1};
  }
  const bool many_heads = spec.shape.B * spec.shape.Hkv >= 2 * workers;
  return {workers == 1 || many_heads ? Schedule::Split::key_heads
                                     : Schedule::Split::tiles,
          workers, tiles_at_once};
}

}  // namespace headwise
