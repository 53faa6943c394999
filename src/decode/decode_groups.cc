#include "decode/decode_groups.h"

#include <algorithm>

#include "attention/schedule.h"
#include "attention/tasks.h"
#include "decode/group_tile.h"
#include "decode/stored_head.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct WorkerMemory {
  WorkerMemory(const AttentionSpec& spec, const KvCacheOptions& options,
               Arena& arena)
      : heads(make_array<PackedHead>(arena, 1, spec.shape, kernels::kKeyBlock)),
        values(StoredHead::take_memory(options, arena)),
        tiles(make_array<GroupTile>(arena, 1, spec)) {}

  std::span<PackedHead> heads;
  float* values;
  std::span<GroupTile> tiles;
};

struct Memory {
  Memory(const AttentionSpec& spec, const KvCacheOptions& options,
         std::size_t count, Arena& arena)
      : workers(make_array<WorkerMemory>(arena, count, spec, options)) {}

  std::span<WorkerMemory> workers;
};

// Some rows of key head g of sequence b.
void run_tile(const DecodeCall& call, const WorkerMemory& own, std::size_t b,
              std::size_t g, std::size_t step) {
  const std::size_t Lq = call.spec.shape.sequence(b).Lq;
  const std::size_t rows = call.spec.shape.group_size(g) * Lq;
  const std::size_t first = step * GroupTile::most_rows();
  if (Lq > kFewQueries || first >= rows) {
    return;
  }
  const StoredHead stored(call.cache, call.ids[b].slot, g, own.values,
                          StoredHead::Values::in_keys);
  PackedHead& head = own.heads.front();
  GroupTile& tile = own.tiles.front();
  head.pack_blocks_of(call.spec, stored, b);
  tile.begin(b, g, first, std::min(rows - first, GroupTile::most_rows()),
             call.inputs.query);
  for (std::size_t n = head.first_block(); n < head.end_block(); ++n) {
    tile.take(head, n);
  }
  tile.finish(call.outputs);
}

}  // namespace

bool reads_groups(const DecodeCall& call) {
  return call.cache.options.value_is_key_prefix && rows_serve(call.spec) &&
         GroupTile::serves(call.spec);
}

std::size_t decode_groups_bytes(const AttentionSpec& spec,
                                const KvCacheOptions& options) {
  return bytes_taken<Memory>(
      spec, options, std::max<std::size_t>(spec.executor->threads(), 1));
}

void decode_groups(const DecodeCall& call, std::byte* workspace) {
  const AttentionShape& shape = call.spec.shape;
  const std::size_t workers = workers_for(call.spec);
  Arena arena(workspace);
  const Memory memory(call.spec, call.cache.options, workers, arena);
  const std::size_t heads = shape.B * shape.Hkv;
  const std::size_t most =
      shape.largest_group() * std::min(shape.Lq, kFewQueries);
  const std::size_t steps =
      (most + GroupTile::most_rows() - 1) / GroupTile::most_rows();
  for_each_task(*call.spec.executor, workers, heads * steps,
                [&](std::size_t worker, std::size_t task) {
                  run_tile(call, memory.workers[worker],
                           task % heads / shape.Hkv, task % shape.Hkv,
                           task / heads);
                });
}

}  // namespace headwise::inline HEADWISE_ABI
