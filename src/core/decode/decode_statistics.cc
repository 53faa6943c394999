#include <algorithm>

#include "attention/statistics/chunked_rows.h"
#include "attention/tasks.h"
#include "decode/decode_paths.h"
#include "decode/tile_worker.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Chunks whose sums are kept for each worker before heads are joined.
constexpr std::size_t kChunksOfAWorker = 4;

struct StatisticsMemory {
  StatisticsMemory(const AttentionSpec& spec, const KvCacheOptions& options,
                   std::size_t count, Arena& arena)
      : chunks(make_array<RowsTogether>(
            arena,
            std::max(ChunkedRows::most_of(spec.shape.Lq),
                     kChunksOfAWorker * count),
            spec)),
        workers(make_array<TileWorker>(arena, count, spec, options)) {}

  std::span<RowsTogether> chunks;
  std::span<TileWorker> workers;
};

class StatisticsCall {
 public:
  StatisticsCall(const DecodeCall& call, std::size_t workers,
                 const StatisticsMemory& memory)
      : call_(call),
        workers_(workers),
        memory_(memory),
        rows_(call.spec, call.tensors),
        chunks_(ChunkedRows::most_of(call.spec.shape.Lq)) {}

  // Some query heads at a time.
  void run() const {
    const std::size_t heads = call_.spec.shape.B * call_.spec.shape.Hq;
    const std::size_t at_once = memory_.chunks.size() / chunks_;
    for (std::size_t first = 0; first < heads; first += at_once) {
      run_heads(first, std::min(at_once, heads - first));
    }
  }

 private:
  void run_heads(std::size_t first, std::size_t count) const {
    for_each_task(*call_.spec.executor, workers_, count * chunks_,
                  [&](std::size_t worker, std::size_t task) {
                    // The last queries have the most work, if it is causal.
                    const std::size_t chunk = chunks_ - 1 - task % chunks_;
                    const std::size_t head = task / chunks_;
                    run_chunk(memory_.workers[worker], head_of(first + head),
                              chunk, memory_.chunks[head * chunks_ + chunk]);
                  });
    for_each_task(*call_.spec.executor, workers_, count,
                  [&](std::size_t, std::size_t head) {
                    rows_.join(head_of(first + head),
                               memory_.chunks.subspan(head * chunks_, chunks_));
                  });
  }

  void run_chunk(const TileWorker& own, const ChunkedRows::QueryHead& of,
                 std::size_t chunk, const RowsTogether& together) const {
    own.with_head(call_, of.b, call_.spec.shape.kv_head(of.h),
                  [&](const PackedHead& head) {
                    rows_.run(of, chunk, head, own.tiles, together);
                  });
  }

  ChunkedRows::QueryHead head_of(std::size_t n) const {
    return {n / call_.spec.shape.Hq, n % call_.spec.shape.Hq};
  }

  const DecodeCall& call_;
  std::size_t workers_;
  const StatisticsMemory& memory_;
  ChunkedRows rows_;
  std::size_t chunks_;  // of a head
};

}  // namespace

std::size_t decode_statistics_bytes(const AttentionSpec& spec,
                                    const CacheState& cache,
                                    std::size_t max_queries) {
  if (!spec.statistics.any()) {
    return 0;
  }
  const std::size_t workers =
      std::max<std::size_t>(spec.executor->threads(), 1);
  const std::size_t longest = cache.sequences.most_tokens();
  AttentionSpec any = spec;
  any.shape.Lq = max_queries;
  std::size_t most = 0;
  for (const std::size_t keys :
       {BlockScores::kKeptKeys, BlockScores::kKeptKeysOfColumns,
        spec.statistics.wanted().columns ? longest : 0}) {
    any.shape.Lkv = std::min(keys, longest);
    most = std::max(most,
                    bytes_taken<StatisticsMemory>(any, cache.options, workers));
  }
  return most;
}

void decode_statistics(const DecodeCall& call, std::byte* workspace) {
  const std::size_t workers = workers_for(call.spec);
  Arena arena(workspace);
  const StatisticsMemory memory(call.spec, call.cache.options, workers, arena);
  StatisticsCall(call, workers, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
