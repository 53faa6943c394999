#include "attention/few_rows/run_rows.h"

#include <algorithm>

#include "attention/check_parts.h"
#include "attention/tasks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using RowsSplit = Schedule::Split;

// Blocks that a task reads one after another: memory is fastest in sequence.
constexpr std::size_t kBlocksOfATask = 2;

bool has_few_queries(const AttentionShape& shape, std::size_t b) {
  const std::size_t Lq = shape.sequence(b).Lq;
  return Lq != 0 && Lq <= kFewQueries;
}

class RowsCall {
 public:
  RowsCall(const RowCall& call, const RowMemory& memory)
      : call_(call), shape_(call.spec.shape), memory_(memory) {}

  void run_heads() const {
    order_sequences(call_.spec, call_.schedule.workers,
                    {memory_.order, shape_.B});
    for_each_task(heads(), [&](std::size_t worker, std::size_t task) {
      const std::size_t b = memory_.order[task / shape_.Hkv];
      const std::size_t g = task % shape_.Hkv;
      if (!has_few_queries(shape_, b)) {
        return;
      }
      const RowWorker& own = memory_.workers[worker];
      RowBlocks& blocks = *call_.blocks[worker];
      HeadRows& rows = own.rows.front();
      const RowResults& result = own.results.front();
      begin(rows, b, g);
      blocks.begin(b, g);
      for (std::size_t n = rows.first_block(); n < rows.end_block(); ++n) {
        rows.attend(n, blocks, own.scratch, result);
        rows.fold(result);
      }
      end(rows);
    });
  }

  void run_blocks() const {
    for_each_head([&](HeadRows& rows, std::size_t head) {
      begin(rows, head / shape_.Hkv, head % shape_.Hkv);
    });
    std::size_t rounds = 0;
    for (std::size_t head = 0; head < heads(); ++head) {
      rounds = std::max(rounds, rounds_of(head));
    }
    for (std::size_t round = 0; round < rounds; ++round) {
      attend_round(round);
      for_each_head([&](HeadRows& rows, std::size_t head) {
        const Range blocks = blocks_of(head, round);
        for (std::size_t n = blocks.begin; n < blocks.end; ++n) {
          rows.fold(result_of(head, n - blocks.begin));
        }
      });
    }
    for_each_head([&](HeadRows& rows, std::size_t) { end(rows); });
  }

 private:
  void begin(HeadRows& rows, std::size_t b, std::size_t g) const {
    rows.begin(b, g, call_.tensors);
    if (!has_first_keys(call_.spec.key_part)) {
      rows.resume(call_.tensors);
    }
  }
  void end(HeadRows& rows) const {
    if (has_last_keys(call_.spec.key_part)) {
      rows.finish(call_.tensors);
    } else {
      rows.save(call_.tensors);
    }
  }

  struct Range {
    std::size_t begin;
    std::size_t end;
  };

  std::size_t heads() const { return shape_.B * shape_.Hkv; }
  std::size_t at_once() const { return call_.schedule.blocks_at_once; }

  template <class Work>
  void for_each_task(std::size_t count, const Work& work) const {
    headwise::for_each_task(*call_.spec.executor, call_.schedule.workers, count,
                            work);
  }
  template <class Work>
  void for_each_head(const Work& work) const {
    for_each_task(heads(), [&](std::size_t, std::size_t head) {
      if (has_few_queries(shape_, head / shape_.Hkv)) {
        work(memory_.heads[head], head);
      }
    });
  }

  std::size_t rounds_of(std::size_t head) const {
    const HeadRows& rows = memory_.heads[head];
    const std::size_t begin = std::min(rows.first_block(), rows.end_block());
    return (rows.end_block() - begin + at_once() - 1) / at_once();
  }
  Range blocks_of(std::size_t head, std::size_t round) const {
    const HeadRows& rows = memory_.heads[head];
    const std::size_t end = rows.end_block();
    const std::size_t begin =
        std::min(rows.first_block() + round * at_once(), end);
    return {begin, std::min(begin + at_once(), end)};
  }
  const RowResults& result_of(std::size_t head, std::size_t place) const {
    return memory_.results[head * at_once() + place];
  }

  void attend_round(std::size_t round) const {
    const std::size_t parts = at_once() / kBlocksOfATask;
    for_each_task(heads() * parts, [&](std::size_t worker, std::size_t task) {
      const std::size_t head = task / parts;
      const Range all = blocks_of(head, round);
      const std::size_t first = task % parts * kBlocksOfATask;
      if (all.begin + first >= all.end) {
        return;
      }
      RowBlocks& blocks = *call_.blocks[worker];
      blocks.begin(head / shape_.Hkv, head % shape_.Hkv);
      for (std::size_t n = first;
           n < std::min(first + kBlocksOfATask, all.end - all.begin); ++n) {
        memory_.heads[head].attend(all.begin + n, blocks,
                                   memory_.workers[worker].scratch,
                                   result_of(head, n));
      }
    });
  }

  const RowCall& call_;
  const AttentionShape& shape_;
  const RowMemory& memory_;
};

bool by_heads(const Schedule& schedule) {
  return schedule.split == RowsSplit::rows_of_heads;
}

}  // namespace

RowWorker::RowWorker(const AttentionSpec& spec, const Schedule& schedule,
                     Arena& arena)
    : scratch(spec, arena),
      rows(make_array<HeadRows>(arena, by_heads(schedule) ? 1 : 0, spec)),
      results(make_array<RowResults>(arena, by_heads(schedule) ? 1 : 0, spec)) {
}

RowMemory::RowMemory(const AttentionSpec& spec, const Schedule& schedule,
                     Arena& arena)
    : order(arena.take<std::size_t>(spec.shape.B)),
      workers(make_array<RowWorker>(arena, schedule.workers, spec, schedule)) {
  const std::size_t all =
      by_heads(schedule) ? 0 : spec.shape.B * spec.shape.Hkv;
  heads = make_array<HeadRows>(arena, all, spec);
  results = make_array<RowResults>(arena, all * schedule.blocks_at_once, spec);
}

void run_rows(const RowCall& call, const RowMemory& memory) {
  if (by_heads(call.schedule)) {
    RowsCall(call, memory).run_heads();
  } else {
    RowsCall(call, memory).run_blocks();
  }
}

}  // namespace headwise::inline HEADWISE_ABI
