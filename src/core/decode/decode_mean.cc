#include <algorithm>

#include "attention/forward/mean_weights.h"
#include "attention/tasks.h"
#include "decode/decode_paths.h"
#include "decode/tile_worker.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Queries of a task: weights of more take more memory.
std::size_t queries_at_once() { return kernels::attention_tile().vector_lanes; }

struct Worker {
  Worker(const AttentionSpec& spec, const KvCacheOptions& options, Arena& arena)
      : tiles(spec, options, arena),
        weights(arena.take<float>(queries_at_once(), spec.pair_columns())) {}

  TileWorker tiles;
  float* weights;  // of one head, on the way to the mean
};

struct MeanMemory {
  MeanMemory(const AttentionSpec& spec, const KvCacheOptions& options,
             std::size_t count, Arena& arena)
      : workers(make_array<Worker>(arena, count, spec, options)) {}

  std::span<Worker> workers;
};

// Some queries of sequence b.
void run_queries(const DecodeCall& call, const Worker& own, std::size_t b,
                 std::size_t first) {
  const std::size_t Lq = call.spec.shape.sequence(b).Lq;
  if (first >= Lq) {
    return;
  }
  for (std::size_t h = 0; h < call.spec.shape.Hq; ++h) {
    const QueryRange range = {b, h, first,
                              std::min(queries_at_once(), Lq - first)};
    own.tiles.with_head(
        call, b, call.spec.shape.kv_head(h), [&](const PackedHead& head) {
          add_head_to_mean(call.spec, call.tensors, head, range,
                           own.tiles.tiles.front(), own.weights);
        });
  }
}

}  // namespace

std::size_t decode_mean_bytes(const AttentionSpec& spec,
                              const CacheState& cache) {
  if (spec.attn_weights != AttnWeights::mean) {
    return 0;
  }
  const std::size_t longest = cache.sequences.most_tokens();
  AttentionSpec any = spec;
  std::size_t most = 0;
  for (const std::size_t keys : {BlockScores::kKeptKeys, longest}) {
    any.shape.Lkv = std::min(keys, longest);
    most =
        std::max(most, bytes_taken<MeanMemory>(
                           any, cache.options,
                           std::max<std::size_t>(spec.executor->threads(), 1)));
  }
  return most;
}

void decode_mean(const DecodeCall& call, std::byte* workspace) {
  const AttentionShape& shape = call.spec.shape;
  const std::size_t workers = workers_for(call.spec);
  Arena arena(workspace);
  const MeanMemory memory(call.spec, call.cache.options, workers, arena);
  const std::size_t steps =
      (shape.Lq + queries_at_once() - 1) / queries_at_once();
  // The last queries first: under a causal mask they have most to do.
  for_each_task(*call.spec.executor, workers, shape.B * steps,
                [&](std::size_t worker, std::size_t task) {
                  const std::size_t step = steps - 1 - task / shape.B;
                  run_queries(call, memory.workers[worker], task % shape.B,
                              step * queries_at_once());
                });
}

}  // namespace headwise::inline HEADWISE_ABI
