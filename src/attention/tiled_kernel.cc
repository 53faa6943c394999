// The kernel on the CPU: tiles of queries against packed keys and values,
// spread over the threads. The bits of a row depend on none of it.
#include <algorithm>
#include <span>

#include "attention/kernel.h"
#include "attention/packed_head.h"
#include "attention/query_tile.h"
#include "attention/ragged_weights.h"
#include "attention/tasks.h"

namespace headwise {
namespace {

using Split = Schedule::Split;

// Splits Lq queries into tiles of whole vectors as evenly as they go, so that
// the last tile is not a thin one.
class Tiling {
 public:
  explicit Tiling(std::size_t Lq) : Lq_(Lq) {
    const kernels::AttentionTile& loops = kernels::attention_tile();
    vector_ = loops.vector_lanes;
    vectors_ = (Lq + vector_ - 1) / vector_;
    const std::size_t most = loops.query_lanes / vector_;
    count_ = (vectors_ + most - 1) / most;
  }

  std::size_t count() const { return count_; }
  std::size_t first(std::size_t tile) const {
    return std::min(Lq_, vectors_ * tile / count_ * vector_);
  }
  QueryRange range(std::size_t b, std::size_t h, std::size_t tile) const {
    return {b, h, first(tile), first(tile + 1) - first(tile)};
  }

 private:
  std::size_t Lq_;
  std::size_t vector_;
  std::size_t vectors_;
  std::size_t count_;
};

// What one worker computes in.
struct WorkerMemory {
  WorkerMemory(const AttentionSpec& spec, const Schedule& schedule,
               Arena& arena)
      : heads(make_array<PackedHead>(
            arena, schedule.split == Split::key_heads ? 1 : 0, spec.shape)),
        scores(make_array<BlockScores>(arena, 1, spec)),
        tiles(make_array<QueryTile>(arena, schedule.tiles_at_once, spec,
                                    scores.data())),
        weights(arena.take<float>(schedule.split == Split::tiles_of_heads
                                      ? kernels::kMaxQueryLanes
                                      : 0,
                                  spec.shape.Lkv)) {}

  std::span<PackedHead> heads;
  std::span<BlockScores> scores;
  std::span<QueryTile> tiles;
  float* weights;  // (lanes, Lkv) of one head, on the way to the mean
};

// All memory of a call.
struct Memory {
  Memory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : order(arena.take<std::size_t>(spec.shape.B)),
        heads(make_array<PackedHead>(arena,
                                     schedule.split == Split::key_heads
                                         ? 0
                                         : spec.shape.B * spec.shape.Hkv,
                                     spec.shape)),
        workers(make_array<WorkerMemory>(arena, schedule.workers, spec,
                                         schedule)) {}

  std::size_t* order;  // the sequences, those with most work first
  std::span<PackedHead> heads;
  std::span<WorkerMemory> workers;
};

class Call {
 public:
  Call(const AttentionSpec& spec, const Schedule& schedule,
       const AttentionInputsOf<float>& inputs, const AttentionOutputs& outputs,
       const Memory& memory)
      : spec_(spec),
        schedule_(schedule),
        inputs_(inputs),
        outputs_(outputs),
        memory_(memory) {}

  void run() const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t heads = shape.B * shape.Hkv;
    order_sequences(spec_, schedule_.workers, {memory_.order, shape.B});
    if (schedule_.split == Split::key_heads) {
      // A bias that the sequences share is read while it is near: one head of
      // all of them after the other.
      const bool heads_outside =
          spec_.bias.given() && spec_.bias.extents()[0] == 1;
      for_each_task(heads, [&](WorkerMemory& own, std::size_t task) {
        const std::size_t b =
            memory_.order[heads_outside ? task % shape.B : task / shape.Hkv];
        const std::size_t g = heads_outside ? task / shape.B : task % shape.Hkv;
        const std::size_t rows = rows_of_tiles(b);
        if (rows == 0) {
          return;
        }
        PackedHead& head = own.heads.front();
        head.pack(spec_, inputs_, b, g);
        for (std::size_t n = 0; n < rows; n += schedule_.tiles_at_once) {
          run_tiles(own, b, g, n, head);
        }
      });
      return;
    }
    for_each_task(heads, [&](WorkerMemory&, std::size_t n) {
      memory_.heads[n].pack(spec_, inputs_, n / shape.Hkv, n % shape.Hkv);
    });
    const std::size_t tiles = Tiling(shape.Lq).count();
    if (schedule_.split == Split::tiles_of_heads) {
      for_each_task(shape.B * tiles, [&](WorkerMemory& own, std::size_t task) {
        mean_of_heads(own, memory_.order[task % shape.B], task / shape.B);
      });
      return;
    }
    // The last queries first: under a causal mask they have most to do.
    const std::size_t steps =
        (tiles * (shape.Hq / shape.Hkv) + schedule_.tiles_at_once - 1) /
        schedule_.tiles_at_once;
    for_each_task(heads * steps, [&](WorkerMemory& own, std::size_t task) {
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
  std::size_t rows_of_tiles(std::size_t b) const {
    return Tiling(spec_.shape.sequence(b).Lq).count() *
           (spec_.shape.Hq / spec_.shape.Hkv);
  }

  // Some tiles from `first` on, block by block: each takes a block of keys
  // while that is near.
  void run_tiles(WorkerMemory& own, std::size_t b, std::size_t g,
                 std::size_t first, const PackedHead& head) const {
    const std::size_t group = spec_.shape.Hq / spec_.shape.Hkv;
    const Tiling tiling(spec_.shape.sequence(b).Lq);
    const std::size_t rows = rows_of_tiles(b);
    const std::span<QueryTile> tiles = own.tiles.first(
        std::min(schedule_.tiles_at_once, rows - std::min(first, rows)));
    const auto range_of = [&](std::size_t n) {
      return tiling.range(b, g * group + (first + n) % group,
                          (first + n) / group);
    };
    for (std::size_t n = 0; n < tiles.size(); ++n) {
      tiles[n].begin(range_of(n), inputs_);
    }
    for (std::size_t block = head.first_block(); block < head.end_block();
         ++block) {
      for (QueryTile& tile : tiles) {
        tile.take(head, block);
      }
    }
    for (std::size_t n = 0; n < tiles.size(); ++n) {
      tiles[n].finish(inputs_, outputs_, head, weights_of(range_of(n)));
    }
  }

  kernels::Rows<float> weights_of(const QueryRange& range) const {
    const TensorView<float, 4>& all = outputs_.attn_weights;
    if (spec_.attn_weights == AttnWeights::none || spec_.shape.Lkv == 0 ||
        range.count == 0) {
      return {};
    }
    return {&all(range.b, range.h, range.first, 0), range.count, all.stride(2),
            all.stride(3)};
  }

  // The mean of the attention weights takes the heads of a tile in order.
  void mean_of_heads(WorkerMemory& own, std::size_t b, std::size_t t) const {
    const AttentionShape& shape = spec_.shape;
    const Tiling tiling(spec_.shape.sequence(b).Lq);
    if (t >= tiling.count()) {
      return;
    }
    QueryTile& tile = own.tiles.front();
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      const QueryRange range = tiling.range(b, h, t);
      const PackedHead& head = memory_.heads[b * shape.Hkv + shape.kv_head(h)];
      tile.begin(range, inputs_);
      for (std::size_t block = head.first_block(); block < head.end_block();
           ++block) {
        tile.take(head, block);
      }
      const kernels::Rows<float> weights{
          shape.Lkv == 0 ? nullptr : own.weights, range.count,
          static_cast<std::ptrdiff_t>(shape.Lkv), 1};
      tile.finish(inputs_, outputs_, head, weights);
      add_to_mean(range, weights);
    }
  }

  void add_to_mean(const QueryRange& range,
                   const kernels::Rows<float>& weights) const {
    const SequencePlace place = spec_.shape.sequence(range.b);
    const bool first = range.h == 0;
    const bool last = range.h + 1 == spec_.shape.Hq;
    const auto heads = static_cast<float>(spec_.shape.Hq);
    for (std::size_t n = 0; n < range.count; ++n) {
      for (std::size_t j = 0; j < place.Lkv; ++j) {
        float& mean = outputs_.attn_weights(range.b, 0, range.first + n, j);
        mean = (first ? 0 : mean) + weights.at(n, j);
        mean = last ? mean / heads : mean;
      }
    }
  }

  const AttentionSpec& spec_;
  const Schedule& schedule_;
  const AttentionInputsOf<float>& inputs_;
  const AttentionOutputs& outputs_;
  const Memory& memory_;
};

}  // namespace

std::size_t workspace_bytes(const AttentionSpec& spec,
                            const Schedule& schedule) {
  Arena arena(nullptr);
  const Memory memory(spec, schedule, arena);
  return arena.bytes();
}

void forward_kernel(const AttentionSpec& spec, const Schedule& schedule,
                    const AttentionInputsOf<float>& inputs,
                    const AttentionOutputs& outputs, std::byte* workspace) {
  if (spec.shape.B * spec.shape.Lq == 0) {
    return;
  }
  Arena arena(workspace);
  const Memory memory(spec, schedule, arena);
  Call(spec, schedule, inputs, outputs, memory).run();
  if (spec.shape.offsets.ragged() && spec.attn_weights != AttnWeights::none) {
    clear_beyond_sequences(spec.shape, outputs.attn_weights);
  }
}

}  // namespace headwise
