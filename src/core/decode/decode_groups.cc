#include <algorithm>

#include "attention/schedule.h"
#include "attention/seen_keys.h"
#include "attention/tasks.h"
#include "decode/decode_paths.h"
#include "decode/group_tile.h"
#include "decode/stored_head.h"
#include "kernels/row_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct GroupsWorkerMemory {
  GroupsWorkerMemory(const AttentionSpec& spec, const KvCacheOptions& options,
                     Arena& arena)
      : heads(make_array<PackedHead>(arena, 1, spec, kernels::kKeyBlock)),
        stored(StoredHead::take_memory(spec, options, arena)),
        tiles(make_array<GroupTile>(arena, 1, spec)) {}

  std::span<PackedHead> heads;
  StoredHead::Memory stored;
  std::span<GroupTile> tiles;
};

// Some rows of a key head.
struct Group {
  std::size_t b;
  std::size_t g;
  std::size_t first;  // row
  std::size_t count;  // 0: none
};

// The groups of a call: those of the last steps may be empty.
class Groups {
 public:
  explicit Groups(const AttentionSpec& spec)
      : shape_(spec.shape), heads_(shape_.B * shape_.Hkv) {
    const std::size_t most =
        shape_.largest_group() * std::min(shape_.Lq, kFewQueries);
    steps_ = (most + GroupTile::most_rows() - 1) / GroupTile::most_rows();
  }

  std::size_t count() const { return heads_ * steps_; }
  Group of(std::size_t n) const {
    const std::size_t b = n % heads_ / shape_.Hkv;
    const std::size_t g = n % shape_.Hkv;
    const std::size_t Lq = shape_.sequence(b).Lq;
    const std::size_t rows = Lq > kFewQueries ? 0 : shape_.group_size(g) * Lq;
    const std::size_t first =
        std::min(n / heads_ * GroupTile::most_rows(), rows);
    return {b, g, first, std::min(rows - first, GroupTile::most_rows())};
  }

 private:
  const AttentionShape& shape_;
  std::size_t heads_;
  std::size_t steps_;
};

// Where there are few groups, a task is some blocks of keys. The results of
// some blocks of each group are kept, then folded in order. That costs an
// eighth more work: it does not pay where the groups alone keep most workers
// busy.
constexpr std::size_t kResultsOfAWorker = 16;
constexpr std::size_t kBlocksOfATask = 4;
constexpr std::size_t kFewBlocks = 8;

bool splits_keys(const AttentionSpec& spec, std::size_t groups,
                 std::size_t workers) {
  return 2 * groups <= workers &&
         spec.shape.Lkv >= kFewBlocks * kernels::kKeyBlock;
}

struct GroupsMemory {
  // `split`: whether tasks may be blocks.
  GroupsMemory(const AttentionSpec& spec, const KvCacheOptions& options,
               std::size_t count, bool split, Arena& arena)
      : workers(make_array<GroupsWorkerMemory>(arena, count, spec, options)),
        rows(make_array<GroupRows>(arena, split ? count / 2 : 0, spec)),
        results(make_array<GroupRows>(
            arena, split ? kResultsOfAWorker * count : 0, spec)) {}

  std::span<GroupsWorkerMemory> workers;
  std::span<GroupRows> rows;     // of each group, after some blocks
  std::span<GroupRows> results;  // of blocks, those of a group side by side
};

class GroupsCall {
 public:
  GroupsCall(const DecodeCall& call, const Groups& groups,
             const GroupsMemory& memory)
      : call_(call),
        groups_(groups),
        memory_(memory),
        at_once_(memory.results.size() / groups.count() / kBlocksOfATask *
                 kBlocksOfATask) {}

  void run_groups() const {
    for_each_group([&](const GroupsWorkerMemory& own, const Group& group,
                       std::size_t) { run_group(own, group); });
  }

  void run_blocks() const {
    for (const GroupRows& rows : memory_.rows) {
      std::fill_n(rows.state.max, kernels::kMaxQueryLanes, kMinusInf);
      std::fill_n(rows.state.sum, kernels::kMaxQueryLanes, 0.0f);
    }
    std::size_t begin = seen_keys(call_.spec, 0).first_block;
    std::size_t end = 0;
    for (std::size_t b = 0; b < call_.spec.shape.B; ++b) {
      const SeenKeys keys = seen_keys(call_.spec, b);
      begin = std::min(begin, keys.first_block);
      end = std::max(end, keys.end_block());
    }
    for (std::size_t first = begin; first < end; first += at_once_) {
      attend_to_blocks(first);
      for_each_group([&](const GroupsWorkerMemory&, const Group& group,
                         std::size_t n) { fold_blocks(group, n, first); });
    }
    for_each_group(
        [&](const GroupsWorkerMemory& own, const Group& group, std::size_t n) {
          begin_tile(own, group).finish(memory_.rows[n], call_.tensors);
        });
  }

 private:
  // work(worker's memory, group, its number) for each that has rows.
  template <class Work>
  void for_each_group(const Work& work) const {
    for_each_task(*call_.spec.executor, memory_.workers.size(), groups_.count(),
                  [&](std::size_t worker, std::size_t n) {
                    if (const Group group = groups_.of(n); group.count != 0) {
                      work(memory_.workers[worker], group, n);
                    }
                  });
  }

  GroupTile& begin_tile(const GroupsWorkerMemory& own,
                        const Group& group) const {
    GroupTile& tile = own.tiles.front();
    tile.begin(group.b, group.g, group.first, group.count,
               call_.tensors[CallTensor::query]);
    return tile;
  }

  // Calls body(head) with the key head of the group.
  template <class Body>
  void with_head(const GroupsWorkerMemory& own, const Group& group,
                 const Body& body) const {
    const StoredHead stored(
        call_.spec, call_.cache, call_.ids[group.b].slot, group.g, own.stored,
        GroupTile::values_in_keys(call_.spec) ? StoredHead::Values::in_keys
                                              : StoredHead::Values::packed);
    PackedHead& head = own.heads.front();
    head.pack_blocks_of(call_.spec, stored, group.b);
    body(head);
  }

  void run_group(const GroupsWorkerMemory& own, const Group& group) const {
    GroupTile& tile = begin_tile(own, group);
    with_head(own, group, [&](const PackedHead& head) {
      for (std::size_t n = head.first_block(); n < head.end_block(); ++n) {
        tile.take(head, n);
      }
    });
    tile.finish(call_.tensors);
  }

  // Those of the blocks [first, end) that the group reads.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };
  Range blocks_of(const Group& group, std::size_t first,
                  std::size_t end) const {
    const SeenKeys keys = seen_keys(call_.spec, group.b);
    return {std::max(first, keys.first_block), std::min(end, keys.end_block())};
  }

  // Of each group, at_once_ blocks.
  void attend_to_blocks(std::size_t first) const {
    const std::size_t parts = at_once_ / kBlocksOfATask;
    for_each_task(
        *call_.spec.executor, memory_.workers.size(), groups_.count() * parts,
        [&](std::size_t worker, std::size_t task) {
          const std::size_t n = task / parts;
          const std::size_t from = first + task % parts * kBlocksOfATask;
          const Group group = groups_.of(n);
          const Range blocks = blocks_of(group, from, from + kBlocksOfATask);
          if (group.count != 0 && blocks.begin < blocks.end) {
            attend_to(
                memory_.workers[worker], group, blocks,
                memory_.results.subspan(n * at_once_ + blocks.begin - first));
          }
        });
  }

  void attend_to(const GroupsWorkerMemory& own, const Group& group,
                 const Range& blocks,
                 std::span<const GroupRows> results) const {
    GroupTile& tile = begin_tile(own, group);
    with_head(own, group, [&](const PackedHead& head) {
      for (std::size_t n = blocks.begin; n < blocks.end; ++n) {
        tile.begin_rows();
        tile.take(head, n);
        tile.store(results[n - blocks.begin]);
      }
    });
  }

  void fold_blocks(const Group& group, std::size_t n, std::size_t first) const {
    const GroupRows& rows = memory_.rows[n];
    const Range blocks = blocks_of(group, first, first + at_once_);
    for (std::size_t k = blocks.begin; k < blocks.end; ++k) {
      const GroupRows& block = memory_.results[n * at_once_ + k - first];
      kernels::row_tile().fold(
          group.count, call_.spec.shape.Dv,
          {block.state.max, block.state.sum, rows.state, false}, block.context,
          rows.context);
    }
  }

  const DecodeCall& call_;
  const Groups& groups_;
  const GroupsMemory& memory_;
  std::size_t at_once_;  // blocks of a group in one round
};

}  // namespace

bool reads_groups(const DecodeCall& call) {
  return call.cache.options.value_is_key_prefix && rows_serve(call.spec) &&
         GroupTile::serves(call.spec);
}

std::size_t decode_groups_bytes(const AttentionSpec& spec,
                                const KvCacheOptions& options,
                                std::size_t max_queries) {
  AttentionSpec few = spec;
  few.shape.Lq = std::min(max_queries, kFewQueries);
  const std::size_t workers =
      std::max<std::size_t>(spec.executor->threads(), 1);
  const bool split = options.value_is_key_prefix && workers > 1;
  return bytes_taken<GroupsMemory>(few, options, workers, split);
}

void decode_groups(const DecodeCall& call, std::byte* workspace) {
  const std::size_t workers = workers_for(call.spec);
  const Groups groups(call.spec);
  const bool split = splits_keys(call.spec, groups.count(), workers);
  Arena arena(workspace);
  const GroupsMemory memory(call.spec, call.cache.options, workers, split,
                            arena);
  const GroupsCall run(call, groups, memory);
  if (split) {
    run.run_blocks();
  } else {
    run.run_groups();
  }
}

}  // namespace headwise::inline HEADWISE_ABI
