// The kernel on the CPU: tiles of queries against packed keys and values,
// spread over the threads. The bits of a row depend on none of it.
#include <algorithm>
#include <span>

#include "attention/forward/mean_weights.h"
#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "attention/forward/run_tiles.h"
#include "attention/forward/tiling.h"
#include "attention/kernel.h"
#include "attention/tasks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using TiledSplit = Schedule::Split;

// What one worker computes in.
struct TiledWorkerMemory {
  TiledWorkerMemory(const AttentionSpec& spec, const Schedule& schedule,
                    Arena& arena)
      : heads(make_array<PackedHead>(
            arena, schedule.split == TiledSplit::key_heads ? 1 : 0, spec)),
        scores(make_array<BlockScores>(arena, 1, spec)),
        tiles(make_array<QueryTile>(arena, schedule.tiles_at_once, spec,
                                    scores.data())),
        weights(arena.take<float>(schedule.split == TiledSplit::tiles_of_heads
                                      ? kernels::kMaxQueryLanes
                                      : 0,
                                  spec.pair_columns())) {}

  std::span<PackedHead> heads;
  std::span<BlockScores> scores;
  std::span<QueryTile> tiles;
  // (lanes, pair_columns) of one head, on the way to the mean.
  float* weights;
};

// All memory of a call.
struct TiledMemory {
  TiledMemory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : order(arena.take<std::size_t>(spec.shape.B)),
        heads(make_array<PackedHead>(arena,
                                     schedule.split == TiledSplit::key_heads
                                         ? 0
                                         : spec.shape.B * spec.shape.Hkv,
                                     spec)),
        workers(make_array<TiledWorkerMemory>(arena, schedule.workers, spec,
                                              schedule)) {}

  std::size_t* order;  // the sequences, those with most work first
  std::span<PackedHead> heads;
  std::span<TiledWorkerMemory> workers;
};

class TiledCall {
 public:
  TiledCall(const KernelCall& call, const TiledMemory& memory)
      : spec_(call.spec),
        schedule_(call.schedule),
        tensors_(call.tensors),
        memory_(memory) {}

  void run() const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t heads = shape.B * shape.Hkv;
    order_sequences(spec_, schedule_.workers, {memory_.order, shape.B});
    if (schedule_.split == TiledSplit::key_heads) {
      // A bias that the sequences share is read while it is in the cache: one
      // head after another, each for all sequences.
      const bool heads_outside =
          spec_.bias.given() && spec_.bias.extents()[0] == 1;
      for_each_task(heads, [&](TiledWorkerMemory& own, std::size_t task) {
        const std::size_t b =
            memory_.order[heads_outside ? task % shape.B : task / shape.Hkv];
        const std::size_t g = heads_outside ? task / shape.B : task % shape.Hkv;
        const std::size_t rows = rows_of_tiles(b, g);
        if (rows == 0) {
          return;
        }
        PackedHead& head = own.heads.front();
        head.pack(spec_, tensors_, b, g);
        for (std::size_t n = 0; n < rows; n += schedule_.tiles_at_once) {
          run_tiles(own, b, g, n, head);
        }
      });
      return;
    }
    for_each_task(heads, [&](TiledWorkerMemory&, std::size_t n) {
      memory_.heads[n].pack(spec_, tensors_, n / shape.Hkv, n % shape.Hkv);
    });
    const std::size_t tiles = Tiling(0, shape.Lq).count();
    if (schedule_.split == TiledSplit::tiles_of_heads) {
      for_each_task(
          shape.B * tiles, [&](TiledWorkerMemory& own, std::size_t task) {
            mean_of_heads(own, memory_.order[task % shape.B], task / shape.B);
          });
      return;
    }
    // The last queries first: under a causal mask they have most to do.
    const std::size_t steps =
        (tiles * shape.largest_group() + schedule_.tiles_at_once - 1) /
        schedule_.tiles_at_once;
    for_each_task(heads * steps, [&](TiledWorkerMemory& own, std::size_t task) {
      const std::size_t b = memory_.order[task % heads / shape.Hkv];
      const std::size_t g = task % shape.Hkv;
      const std::size_t step = steps - 1 - task / heads;
      run_tiles(own, b, g, step * schedule_.tiles_at_once,
                memory_.heads[b * shape.Hkv + g]);
    });
  }

 private:
  template <class Work>
  void for_each_task(std::size_t count, const Work& work) const {
    headwise::for_each_task(*spec_.executor, schedule_.workers, count,
                            [&](std::size_t worker, std::size_t task) {
                              work(memory_.workers[worker], task);
                            });
  }

  // The tiles of one key head, those of its query heads side by side.
  std::size_t rows_of_tiles(std::size_t b, std::size_t g) const {
    return Tiling(0, spec_.shape.sequence(b).Lq).count() *
           spec_.shape.group_size(g);
  }

  // Some tiles from `first` on.
  void run_tiles(TiledWorkerMemory& own, std::size_t b, std::size_t g,
                 std::size_t first, const PackedHead& head) const {
    const std::size_t first_head = spec_.shape.first_query_head(g);
    const std::size_t group = spec_.shape.group_size(g);
    const Tiling tiling(0, spec_.shape.sequence(b).Lq);
    const std::size_t rows = rows_of_tiles(b, g);
    const std::span<QueryTile> tiles = own.tiles.first(
        std::min(schedule_.tiles_at_once, rows - std::min(first, rows)));
    const auto range_of = [&](std::size_t n) {
      return tiling.range(b, first_head + (first + n) % group,
                          (first + n) / group);
    };
    headwise::run_tiles(spec_, tensors_, head, tiles, range_of);
  }

  // The mean of the attention weights takes the heads of a tile in order.
  void mean_of_heads(TiledWorkerMemory& own, std::size_t b,
                     std::size_t t) const {
    const AttentionShape& shape = spec_.shape;
    const Tiling tiling(0, spec_.shape.sequence(b).Lq);
    if (t >= tiling.count()) {
      return;
    }
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      add_head_to_mean(spec_, tensors_,
                       memory_.heads[b * shape.Hkv + shape.kv_head(h)],
                       tiling.range(b, h, t), own.tiles.front(), own.weights);
    }
  }

  const AttentionSpec& spec_;
  const Schedule& schedule_;
  const CallTensors& tensors_;
  const TiledMemory& memory_;
};

}  // namespace

std::size_t forward_workspace_bytes(const AttentionSpec& spec,
                                    const Schedule& schedule) {
  return bytes_taken<TiledMemory>(spec, schedule);
}

void forward_kernel(const KernelCall& call, std::byte* workspace) {
  Arena arena(workspace);
  const TiledMemory memory(call.spec, call.schedule, arena);
  TiledCall(call, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
