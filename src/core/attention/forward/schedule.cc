#include "attention/schedule.h"

#include <algorithm>

#include "attention/forward/query_tile.h"
#include "attention/tasks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Queries that read a block of keys while it is in the second-level cache.
constexpr std::size_t kScheduledQueries = 192;

// Blocks of a head that keep a worker busy between two folds.
constexpr std::size_t kBlocksOfAWorker = 32;

// The least number of blocks of which some are a task.
constexpr std::size_t kFewBlocks = 8;

}  // namespace

bool rows_serve(const AttentionSpec& spec) {
  return !spec.additive() && !spec.dropout.active() && !spec.statistics.any() &&
         spec.attn_weights == AttnWeights::none &&
         spec.scores == ScoresStage::none && spec.added_keys.count() == 0;
}

Schedule schedule_of(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  if (shape.Lq <= kFewQueries && rows_serve(spec)) {
    return schedule_of_rows(spec);
  }
  const std::size_t workers = workers_for(spec);
  if (spec.attn_weights == AttnWeights::mean) {
    return {Schedule::Split::tiles_of_heads, workers, 1};
  }
  const std::size_t queries = kernels::attention_tile().query_lanes;
  const std::size_t most =
      BlockScores::kept(spec) ? 1 : kScheduledQueries / queries;
  if (heads_suffice(spec, workers)) {
    return {Schedule::Split::key_heads, workers, most};
  }
  const std::size_t tiles =
      shape.B * shape.Hq * ((shape.Lq + queries - 1) / queries);
  return {
      Schedule::Split::tiles, workers,
      std::clamp<std::size_t>(tiles / (kTasksOfAWorker * workers), 1, most)};
}

Schedule schedule_of_rows(const AttentionSpec& spec) {
  const std::size_t workers = workers_for(spec);
  return heads_suffice(spec, workers) || key_blocks(spec.shape.Lkv) < kFewBlocks
             ? schedule_of_heads(workers)
             : schedule_of_blocks(spec, workers);
}

Schedule schedule_of_heads(std::size_t workers) {
  return {Schedule::Split::rows_of_heads, workers, 0};
}

Schedule schedule_of_blocks(const AttentionSpec& spec, std::size_t workers) {
  const std::size_t heads = spec.shape.B * spec.shape.Hkv;
  const std::size_t blocks = kBlocksOfAWorker * workers / heads;
  return {Schedule::Split::rows_of_blocks, workers, 0,
          std::max(kFewBlocks, blocks / 2 * 2)};
}

}  // namespace headwise::inline HEADWISE_ABI
