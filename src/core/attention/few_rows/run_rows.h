// A call of few queries: each row reads the keys and values of its head once.
// Sequences of more queries than kFewQueries are left out.
// Tasks are heads of keys or, where there are few of them, blocks of keys: then
// the results of some blocks are kept and folded one by one, in order, so that
// the bits do not depend on it.
#pragma once

#include <cstddef>
#include <span>

#include "attention/few_rows/head_rows.h"
#include "attention/few_rows/row_blocks.h"
#include "attention/schedule.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

// What one worker computes in.
struct RowWorker {
  RowWorker(const AttentionSpec& spec, const Schedule& schedule, Arena& arena);

  RowScratch scratch;
  std::span<HeadRows> rows;       // one, where tasks are heads
  std::span<RowResults> results;  // one, likewise
};

// All memory of a call but that of the workers' RowBlocks.
struct RowMemory {
  RowMemory(const AttentionSpec& spec, const Schedule& schedule, Arena& arena);

  std::size_t* order;  // the sequences, those with most work first
  std::span<RowWorker> workers;
  // Where tasks are blocks: of every head its rows, and the results of the
  // blocks of a round.
  std::span<HeadRows> heads;
  std::span<RowResults> results;  // (heads, schedule.blocks_at_once)
};

// A call that was checked and has a query. `blocks` has one for each worker.
struct RowCall {
  const AttentionSpec& spec;
  const Schedule& schedule;
  const CallTensors& tensors;
  std::span<RowBlocks* const> blocks;
};

// Allocates nothing.
void run_rows(const RowCall& call, const RowMemory& memory);

}  // namespace headwise::inline HEADWISE_ABI
