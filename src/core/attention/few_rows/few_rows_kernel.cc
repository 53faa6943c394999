// The kernel on the CPU for few queries of plain tensors.
#include "attention/few_rows/plain_blocks.h"
#include "attention/few_rows/run_rows.h"
#include "attention/kernel.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct RowsMemory {
  RowsMemory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena)
      : rows(spec, schedule, arena),
        plain(make_array<PlainBlocks>(arena, schedule.workers, spec)),
        blocks(arena.take<RowBlocks*>(schedule.workers)) {}

  RowMemory rows;
  std::span<PlainBlocks> plain;
  RowBlocks** blocks;
};

}  // namespace

std::size_t few_rows_workspace_bytes(const AttentionSpec& spec,
                                     const Schedule& schedule) {
  return bytes_taken<RowsMemory>(spec, schedule);
}

void few_rows_kernel(const KernelCall& call, std::byte* workspace) {
  Arena arena(workspace);
  const RowsMemory memory(call.spec, call.schedule, arena);
  for (std::size_t n = 0; n < memory.plain.size(); ++n) {
    memory.plain[n].read(call.tensors);
    memory.blocks[n] = &memory.plain[n];
  }
  run_rows({call.spec,
            call.schedule,
            call.tensors,
            {memory.blocks, memory.plain.size()}},
           memory.rows);
}

}  // namespace headwise::inline HEADWISE_ABI
