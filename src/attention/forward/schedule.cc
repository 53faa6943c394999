#include "attention/schedule.h"

#include <algorithm>

#include "attention/forward/query_tile.h"
#include "attention/tasks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Queries that read a block of keys while it is in the second-level cache.
constexpr std::size_t kQueriesAtOnce = 192;

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
  if (heads_suffice(spec, workers)) {
    return {Schedule::Split::key_heads, workers, most};
  }
  const std::size_t tiles =
      shape.B * shape.Hq * ((shape.Lq + queries - 1) / queries);
  return {
      Schedule::Split::tiles, workers,
      std::clamp<std::size_t>(tiles / (kTasksOfAWorker * workers), 1, most)};
}

}  // namespace headwise::inline HEADWISE_ABI
