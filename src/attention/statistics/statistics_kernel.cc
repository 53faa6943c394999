// Some heads after another are packed and run, the queries of each in chunks:
// what several rows give together is summed within a chunk in the rows' order,
// then over the chunks in theirs. The bits depend neither on how many heads are
// packed at a time nor on which worker takes which chunk.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "attention/forward/packed_head.h"
#include "attention/forward/run_tiles.h"
#include "attention/forward/tiling.h"
#include "attention/kernel.h"
#include "attention/tasks.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kQueryBlock;

// Of a sequence's queries that count: each of as many whole blocks of 48 as it
// takes. Those behind them belong to the last chunk.
constexpr std::size_t kChunks = 16;

struct Chunk {
  std::size_t first;
  std::size_t count;
};

Chunk chunk_of(const AttentionSpec& spec, std::size_t b, std::size_t n) {
  constexpr std::size_t kOfAll = kQueryBlock * kChunks;
  const std::size_t counted =
      std::max<std::size_t>(spec.statistics.queries(b), 1);
  const std::size_t size = (counted + kOfAll - 1) / kOfAll * kQueryBlock;
  const std::size_t Lq = spec.shape.sequence(b).Lq;
  const std::size_t first = std::min(n * size, Lq);
  const std::size_t end = n + 1 == kChunks ? Lq : std::min(first + size, Lq);
  return {first, end - first};
}

// Key heads that are packed at a time: at least one task for each worker, and
// no more memory than helps.
std::size_t heads_at_once(const AttentionSpec& spec, const Schedule& schedule) {
  constexpr std::size_t kMostBytes = 16 << 20;
  const AttentionShape& shape = spec.shape;
  const std::size_t head_bytes = bytes_taken<PackedHead>(shape);
  const std::size_t heads = shape.B * shape.Hkv;
  const std::size_t enough = (2 * schedule.workers + kChunks - 1) / kChunks;
  return std::clamp<std::size_t>(
      std::max(enough, kMostBytes / std::max<std::size_t>(head_bytes, 1)), 1,
      std::max<std::size_t>(heads, 1));
}

struct Worker {
  Worker(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : scores(make_array<BlockScores>(arena, 1, spec)),
        tiles(make_array<QueryTile>(arena, schedule.tiles_at_once, spec,
                                    scores.data())) {}

  std::span<BlockScores> scores;
  std::span<QueryTile> tiles;
};

struct Memory {
  Memory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : heads(make_array<PackedHead>(arena, heads_at_once(spec, schedule),
                                     spec.shape)),
        chunks(make_array<RowsTogether>(arena,
                                        heads_at_once(spec, schedule) *
                                            spec.shape.largest_group() *
                                            kChunks,
                                        spec)),
        workers(make_array<Worker>(arena, schedule.workers, spec, schedule)) {}

  std::span<PackedHead> heads;
  std::span<RowsTogether> chunks;  // (heads, largest group, kChunks)
  std::span<Worker> workers;
};

class Call {
 public:
  Call(const KernelCall& call, const Memory& memory)
      : spec_(call.spec),
        schedule_(call.schedule),
        inputs_(call.inputs),
        outputs_(call.outputs),
        memory_(memory),
        largest_group_(call.spec.shape.largest_group()) {}

  void run() const {
    const std::size_t heads = spec_.shape.B * spec_.shape.Hkv;
    for (std::size_t first = 0; first < heads; first += memory_.heads.size()) {
      run_heads(first, std::min(memory_.heads.size(), heads - first));
    }
  }

 private:
  // Key heads are packed from number `first` of all on.
  struct QueryHead {
    std::size_t packed;  // its key head among those
    std::size_t b;
    std::size_t h;
  };
  // None where the group is not the largest and ends before.
  std::optional<QueryHead> query_head(std::size_t first,
                                      std::size_t row) const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t packed = row / largest_group_;
    const std::size_t g = (first + packed) % shape.Hkv;
    if (row % largest_group_ >= shape.group_size(g)) {
      return std::nullopt;
    }
    return QueryHead{packed, (first + packed) / shape.Hkv,
                     shape.first_query_head(g) + row % largest_group_};
  }

  void run_heads(std::size_t first, std::size_t count) const {
    const std::size_t Hkv = spec_.shape.Hkv;
    for_each_task(*spec_.executor, schedule_.workers, count,
                  [&](std::size_t, std::size_t n) {
                    memory_.heads[n].pack(spec_, inputs_, (first + n) / Hkv,
                                          (first + n) % Hkv);
                  });
    const std::size_t rows = count * largest_group_;
    // One head after another, so that its keys are in the cache. The last
    // chunks of a head come first, because under a causal mask they have the
    // most work.
    for_each_task(*spec_.executor, schedule_.workers, rows * kChunks,
                  [&](std::size_t worker, std::size_t task) {
                    const std::size_t chunk = kChunks - 1 - task % kChunks;
                    const std::size_t row = task / kChunks;
                    if (const auto of = query_head(first, row)) {
                      run_chunk(memory_.workers[worker], of->b, of->h, chunk,
                                memory_.heads[of->packed],
                                memory_.chunks[row * kChunks + chunk]);
                    }
                  });
    for_each_task(*spec_.executor, schedule_.workers, rows,
                  [&](std::size_t, std::size_t row) {
                    if (const auto of = query_head(first, row)) {
                      join_chunks(
                          of->b, of->h, memory_.heads[of->packed],
                          memory_.chunks.subspan(row * kChunks, kChunks));
                    }
                  });
  }

  void run_chunk(const Worker& own, std::size_t b, std::size_t h,
                 std::size_t number, const PackedHead& head,
                 const RowsTogether& together) const {
    together.clear();
    const Chunk chunk = chunk_of(spec_, b, number);
    const Tiling tiling(chunk.first, chunk.count);
    // In groups as even as they go: a thin one reads the keys for few queries.
    const std::size_t groups =
        (tiling.count() + own.tiles.size() - 1) / own.tiles.size();
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t t = tiling.count() * group / groups;
      const std::size_t end = tiling.count() * (group + 1) / groups;
      const std::span<QueryTile> tiles = own.tiles.first(end - t);
      run_tiles(spec_, inputs_, outputs_, head, tiles,
                [&](std::size_t n) { return tiling.range(b, h, t + n); });
      for (QueryTile& tile : tiles) {
        tile.add_to(head, together);
      }
    }
  }

  void join_chunks(std::size_t b, std::size_t h, const PackedHead& head,
                   std::span<const RowsTogether> chunks) const {
    if (outputs_.statistics.columns.data() != nullptr) {
      join_columns(b, h, head, chunks);
    }
    if (outputs_.statistics.map_mean.data() != nullptr) {
      join_maps(b, h, chunks);
    }
  }

  void join_columns(std::size_t b, std::size_t h, const PackedHead& head,
                    std::span<const RowsTogether> chunks) const {
    const TensorView<float, 3>& columns = outputs_.statistics.columns;
    const SequencePlace place = spec_.shape.sequence(b);
    const std::size_t first = std::min(head.first_key(0), place.Lkv);
    for (std::size_t j = 0; j < place.Lkv; ++j) {
      float sum = 0;
      for (const RowsTogether& chunk : chunks) {
        sum += j < first ? 0 : kernels::column_sum(chunk.columns, j - first);
      }
      columns(place.batch, h, place.first_key + j) =
          std::isnan(sum) ? kNaN : sum;
    }
  }

  void join_maps(std::size_t b, std::size_t h,
                 std::span<const RowsTogether> chunks) const {
    const StatisticsViews& to = outputs_.statistics;
    const std::size_t Lkv = spec_.shape.sequence(b).Lkv;
    const std::size_t rows = map_size(spec_.statistics.queries(b));
    const std::size_t cells = map_size(Lkv);
    for (std::size_t r = 0; r < to.map_mean.extent(2); ++r) {
      for (std::size_t c = 0; c < to.map_mean.extent(3); ++c) {
        float sum = 0;
        float largest = 0;
        std::int64_t counted = 0;
        for (const RowsTogether& chunk : chunks) {
          if (r >= rows || c >= cells) {
            break;
          }
          sum += chunk.map_sum[r * cells + c];
          const float here = chunk.map_largest[r * cells + c];
          largest = here > largest || std::isnan(here) ? here : largest;
          counted += chunk.map_rows[r];
        }
        const std::size_t keys = c < cells ? map_cell_size(c, Lkv) : 0;
        const std::int64_t pairs = counted * static_cast<std::int64_t>(keys);
        const float mean = pairs == 0 ? 0 : sum / static_cast<float>(pairs);
        to.map_mean(b, h, r, c) = std::isnan(mean) ? kNaN : mean;
        to.map_largest(b, h, r, c) = std::isnan(sum) ? kNaN : largest;
      }
    }
  }

  const AttentionSpec& spec_;
  const Schedule& schedule_;
  const CallInputs& inputs_;
  const CallOutputs& outputs_;
  const Memory& memory_;
  std::size_t largest_group_;  // query heads of a key head
};

}  // namespace

std::size_t statistics_workspace_bytes(const AttentionSpec& spec,
                                       const Schedule& schedule) {
  return bytes_taken<Memory>(spec, schedule);
}

void statistics_kernel(const KernelCall& call, std::byte* workspace) {
  Arena arena(workspace);
  const Memory memory(call.spec, call.schedule, arena);
  Call(call, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
