#include <algorithm>

#include "attention/forward/run_tiles.h"
#include "attention/forward/tiling.h"
#include "attention/tasks.h"
#include "decode/decode_paths.h"
#include "decode/tile_worker.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct TilesMemory {
  TilesMemory(const AttentionSpec& spec, const KvCacheOptions& options,
              std::size_t count, Arena& arena)
      : workers(make_array<TileWorker>(arena, count, spec, options)) {}

  std::span<TileWorker> workers;
};

class TiledCall {
 public:
  TiledCall(const DecodeCall& call, std::size_t least, std::size_t workers,
            const TilesMemory& memory)
      : call_(call),
        spec_(call.spec),
        least_(least),
        workers_(workers),
        memory_(memory) {
    const AttentionShape& shape = spec_.shape;
    const std::size_t tiles =
        Tiling(0, shape.Lq).count() * shape.largest_group();
    // With few heads a smaller step gives every worker some.
    const std::size_t most = TileWorker::tiles_at_once(spec_);
    step_ = std::clamp<std::size_t>(
        tiles * sequences() * shape.Hkv / (kTasksOfAWorker * workers), 1, most);
    steps_ = (tiles + step_ - 1) / step_;
  }

  void run() const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t heads = shape.B * shape.Hkv;
    // The last queries first: under a causal mask they have most to do.
    for_each_task(*spec_.executor, workers_, heads * steps_,
                  [&](std::size_t worker, std::size_t task) {
                    const std::size_t b = task % heads / shape.Hkv;
                    run_step(memory_.workers[worker], b, task % shape.Hkv,
                             steps_ - 1 - task / heads);
                  });
  }

 private:
  // Those that are not left out.
  std::size_t sequences() const {
    std::size_t count = 0;
    for (std::size_t b = 0; b < spec_.shape.B; ++b) {
      count += spec_.shape.sequence(b).Lq >= least_ ? 1 : 0;
    }
    return count;
  }

  // Some tiles of one key head, those of its query heads side by side.
  void run_step(const TileWorker& own, std::size_t b, std::size_t g,
                std::size_t step) const {
    const std::size_t first_head = spec_.shape.first_query_head(g);
    const std::size_t group = spec_.shape.group_size(g);
    const std::size_t Lq = spec_.shape.sequence(b).Lq;
    const Tiling tiling(0, Lq);
    const std::size_t all = tiling.count() * group;
    const std::size_t first = step * step_;
    if (Lq < least_ || first >= all) {
      return;
    }
    const auto range_of = [&](std::size_t n) {
      return tiling.range(b, first_head + (first + n) % group,
                          (first + n) / group);
    };
    own.with_head(call_, b, g, [&](const PackedHead& head) {
      run_tiles(spec_, call_.tensors, head,
                own.tiles.first(std::min(step_, all - first)), range_of);
    });
  }

  const DecodeCall& call_;
  const AttentionSpec& spec_;
  std::size_t least_;  // queries
  std::size_t workers_;
  const TilesMemory& memory_;
  std::size_t step_;   // tiles of a task
  std::size_t steps_;  // tasks of the largest key head
};

}  // namespace

std::size_t decode_tiles_bytes(const AttentionSpec& spec,
                               const KvCacheOptions& options) {
  const std::size_t workers =
      std::max<std::size_t>(spec.executor->threads(), 1);
  // Only attention weights of up to kKeptKeys keys take more than others.
  AttentionSpec any = spec;
  any.shape.Lkv = BlockScores::kKeptKeys;
  const std::size_t kept = bytes_taken<TilesMemory>(any, options, workers);
  any.shape.Lkv = BlockScores::kKeptKeys + 1;
  return std::max(kept, bytes_taken<TilesMemory>(any, options, workers));
}

void decode_tiles(const DecodeCall& call, std::size_t least,
                  std::byte* workspace) {
  const std::size_t workers = workers_for(call.spec);
  Arena arena(workspace);
  const TilesMemory memory(call.spec, call.cache.options, workers, arena);
  TiledCall(call, least, workers, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
