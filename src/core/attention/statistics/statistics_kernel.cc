// Some heads after another are packed and run, the queries of each in chunks.
// The bits depend neither on how many heads are packed at a time nor on which
// worker takes which chunk.
#include <algorithm>
#include <optional>
#include <span>

#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "attention/kernel.h"
#include "attention/statistics/chunked_rows.h"
#include "attention/tasks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kChunks = ChunkedRows::kMost;

// Key heads that are packed at a time: at least one task for each worker, and
// no more memory than helps.
std::size_t heads_at_once(const AttentionSpec& spec, const Schedule& schedule) {
  constexpr std::size_t kMostBytes = 16 << 20;
  const AttentionShape& shape = spec.shape;
  const std::size_t head_bytes = bytes_taken<PackedHead>(spec);
  const std::size_t heads = shape.B * shape.Hkv;
  const std::size_t enough = (2 * schedule.workers + kChunks - 1) / kChunks;
  return std::clamp<std::size_t>(
      std::max(enough, kMostBytes / std::max<std::size_t>(head_bytes, 1)), 1,
      std::max<std::size_t>(heads, 1));
}

struct Worker {
  Worker(const AttentionSpec& spec, const Schedule& schedule,
         const KeyShares* of_keys, Arena& arena)
      : scores(make_array<BlockScores>(arena, 1, spec)),
        tiles(make_array<QueryTile>(arena, schedule.tiles_at_once, spec,
                                    scores.data())),
        shares(of_keys == nullptr
                   ? std::span<ShareTile>()
                   : make_array<ShareTile>(arena, schedule.tiles_at_once,
                                           of_keys)) {
    for (std::size_t n = 0; n < shares.size(); ++n) {
      tiles[n].show_scores_to(shares[n]);
    }
  }

  std::span<BlockScores> scores;
  std::span<QueryTile> tiles;
  std::span<ShareTile> shares;  // none, or one per tile
};

struct StatisticsMemory {
  StatisticsMemory(const AttentionSpec& spec, const Schedule& schedule,
                   const KeyShares* shares, Arena& arena)
      : heads(
            make_array<PackedHead>(arena, heads_at_once(spec, schedule), spec)),
        chunks(make_array<RowsTogether>(arena,
                                        heads_at_once(spec, schedule) *
                                            spec.shape.largest_group() *
                                            kChunks,
                                        spec)),
        workers(make_array<Worker>(arena, schedule.workers, spec, schedule,
                                   shares)) {}

  std::span<PackedHead> heads;
  std::span<RowsTogether> chunks;  // (heads, largest group, kChunks)
  std::span<Worker> workers;
};

class StatisticsCall {
 public:
  StatisticsCall(const KernelCall& call, const StatisticsMemory& memory)
      : spec_(call.spec),
        schedule_(call.schedule),
        tensors_(call.tensors),
        rows_(call.spec, call.tensors),
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
    ChunkedRows::QueryHead head;
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
    return QueryHead{packed,
                     {(first + packed) / shape.Hkv,
                      shape.first_query_head(g) + row % largest_group_}};
  }

  void run_heads(std::size_t first, std::size_t count) const {
    const std::size_t Hkv = spec_.shape.Hkv;
    for_each_task(*spec_.executor, schedule_.workers, count,
                  [&](std::size_t, std::size_t n) {
                    memory_.heads[n].pack(spec_, tensors_, (first + n) / Hkv,
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
                      rows_.run(of->head, chunk, memory_.heads[of->packed],
                                memory_.workers[worker].tiles,
                                memory_.chunks[row * kChunks + chunk]);
                    }
                  });
    for_each_task(*spec_.executor, schedule_.workers, rows,
                  [&](std::size_t, std::size_t row) {
                    if (const auto of = query_head(first, row)) {
                      rows_.join(of->head, memory_.chunks.subspan(row * kChunks,
                                                                  kChunks));
                    }
                  });
  }

  const AttentionSpec& spec_;
  const Schedule& schedule_;
  const CallTensors& tensors_;
  ChunkedRows rows_;
  const StatisticsMemory& memory_;
  std::size_t largest_group_;  // query heads of a key head
};

}  // namespace

std::size_t statistics_workspace_bytes(const AttentionSpec& spec,
                                       const Schedule& schedule,
                                       const KeyShares* shares) {
  return bytes_taken<StatisticsMemory>(spec, schedule, shares);
}

void statistics_kernel(const KernelCall& call, std::byte* workspace) {
  Arena arena(workspace);
  const StatisticsMemory memory(call.spec, call.schedule, call.shares, arena);
  StatisticsCall(call, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
