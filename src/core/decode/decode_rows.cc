#include <algorithm>

#include "attention/few_rows/run_rows.h"
#include "attention/schedule.h"
#include "attention/tasks.h"
#include "decode/decode_paths.h"
#include "decode/stored_blocks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct RowsMemory {
  RowsMemory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : rows(spec, schedule, arena),
        stored(arena.take<StoredBlocks>(schedule.workers)),
        blocks(arena.take<RowBlocks*>(schedule.workers)) {}

  RowMemory rows;
  StoredBlocks* stored;
  RowBlocks** blocks;
};

}  // namespace

bool reads_stored_rows(const DecodeCall& call) {
  return rows_serve(call.spec) && StoredBlocks::serve(call);
}

std::size_t decode_rows_bytes(const AttentionSpec& spec,
                              const KvCacheOptions& options,
                              std::size_t max_queries) {
  AttentionSpec few = spec;
  few.shape.Lq = std::min(max_queries, kFewQueries);
  few.shape.B = options.max_sequences;
  const std::size_t workers =
      std::max<std::size_t>(spec.executor->threads(), 1);
  std::size_t most = bytes_taken<RowsMemory>(few, schedule_of_heads(workers));
  // A task is some blocks only where there are few heads.
  for (few.shape.B = 1;
       few.shape.B <= options.max_sequences &&
       few.shape.B * spec.shape.Hkv < kTasksOfAWorker * workers;
       ++few.shape.B) {
    most = std::max(
        most, bytes_taken<RowsMemory>(few, schedule_of_blocks(few, workers)));
  }
  return most;
}

void decode_rows(const DecodeCall& call, std::byte* workspace) {
  const Schedule schedule = schedule_of_rows(call.spec);
  Arena arena(workspace);
  const RowsMemory memory(call.spec, schedule, arena);
  for (std::size_t n = 0; n < schedule.workers; ++n) {
    memory.blocks[n] = std::construct_at(memory.stored + n, call);
  }
  run_rows(
      {call.spec, schedule, call.tensors, {memory.blocks, schedule.workers}},
      memory.rows);
}

}  // namespace headwise::inline HEADWISE_ABI
