#include "decode/received_pass.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "attention/few_rows/key_words.h"
#include "attention/few_rows/packed_rows.h"
#include "attention/number_rows.h"
#include "attention/score_terms.h"
#include "attention/seen_keys.h"
#include "attention/tasks.h"
#include "decode/stored_blocks.h"
#include "decode/stored_head.h"
#include "kernels/received_tile.h"
#include "kernels/stored_tile.h"
#include "run/arena.h"
#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kKeyBlock;
using kernels::kPanelKeys;
using kernels::kRowsAtOnce;

constexpr std::size_t kPanels = kKeyBlock / kPanelKeys;

// Rows that take turns over a block of keys while both are in the second-level
// cache; a group of more heads has one query of each.
constexpr std::size_t kRowsOfATile = 192;

// Up to this number of rows it does not pay to widen a block of keys once for
// all of them.
constexpr std::size_t kFewRows = 128;

std::size_t queries_of_a_tile(std::size_t heads) {
  return std::clamp<std::size_t>(kRowsOfATile / heads, 1,
                                 kernels::kMaxQueryLanes);
}

std::size_t most_packed_rows(const AttentionShape& shape) {
  const std::size_t heads = std::max<std::size_t>(shape.largest_group(), 1);
  return std::max(kRowsOfATile, heads);
}

// What one worker computes in.
struct ReceivedWorkerMemory {
  ReceivedWorkerMemory(const AttentionSpec& spec, Arena& arena)
      : keys(arena.take<float>(kKeyBlock, spec.shape.D)),
        q(arena.take<float>(most_packed_rows(spec.shape),
                            packed_row_size(spec))),
        scores(arena.take<float>(kRowsAtOnce, kKeyBlock)),
        words(arena.take<kernels::MaskWord>(kKeyBlock)),
        key_words(arena.take<kernels::KeyWords>(most_packed_rows(spec.shape))),
        sums(arena.take<float>(spec.shape.largest_group(), kKeyBlock)),
        stored(arena.take<StoredBlocks>()) {
    for (float*& panel : panels) {
      panel = arena.take<float>(spec.shape.D, kPanelKeys);
    }
  }

  float* keys;                         // (kKeyBlock, D), before they are packed
  std::array<float*, kPanels> panels;  // (D, kPanelKeys) each
  float* q;                            // (rows, packed_row_size)
  float* scores;                       // (kRowsAtOnce, kKeyBlock)
  kernels::MaskWord* words;            // (kKeyBlock)
  kernels::KeyWords* key_words;        // (rows)
  float* sums;                         // (heads of the group, kKeyBlock)
  StoredBlocks* stored;
};

// Keys that one of the rows sees; null: every row sees all.
kernels::KeyWords seen_by_any(const kernels::KeyWords* rows,
                              std::size_t count) {
  kernels::KeyWords seen;
  seen.fill(rows == nullptr ? ~kernels::MaskWord{0} : 0);
  for (std::size_t r = 0; rows != nullptr && r < count; ++r) {
    for (std::size_t n = 0; n < seen.size(); ++n) {
      seen[n] |= rows[r][n];
    }
  }
  return seen;
}

// A panel does not cross a word.
bool sees_any(const kernels::KeyWords& seen, std::size_t first,
              std::size_t width) {
  return (seen[first / 64] >> (first % 64) &
          ~kernels::MaskWord{0} >> (64 - width)) != 0;
}

struct ReceivedMemory {
  ReceivedMemory(const AttentionSpec& spec, std::size_t count, Arena& arena)
      : workers(make_array<ReceivedWorkerMemory>(arena, count, spec)) {}

  std::span<ReceivedWorkerMemory> workers;
};

// A block of the keys of one head, as the loops read it.
struct Block {
  std::size_t b;
  std::size_t g;
  std::size_t first_head;  // of the group
  std::size_t heads;
  SequencePlace place;
  std::size_t first_key;
  std::size_t keys;
  std::span<const kernels::KeyPanel> panels;
  const kernels::StoredTile& loops;
};

class ReceivedPass {
 public:
  ReceivedPass(const DecodeCall& call, ReceivedSums& sums, std::size_t workers,
               const ReceivedMemory& memory)
      : call_(call),
        spec_(call.spec),
        sums_(sums),
        workers_(workers),
        memory_(memory),
        loops_(kernels::row_tile()),
        received_(kernels::received_tile()),
        heads_see_the_same_(same_for_all_heads(call.spec.mask)),
        has_terms_(has_score_terms(call.spec)),
        reads_stored_(StoredBlocks::serve(call)) {
    for (const ReceivedWorkerMemory& own : memory.workers) {
      std::construct_at(own.stored, call);
    }
  }

  // A task is a block of keys, whose sums no other one changes.
  void run() const {
    const AttentionShape& shape = spec_.shape;
    std::size_t blocks = 0;
    for (std::size_t b = 0; b < shape.B; ++b) {
      const SeenKeys seen = seen_keys(spec_, b);
      blocks = std::max(blocks, seen.end_block() - std::min(seen.first_block,
                                                            seen.end_block()));
    }
    for_each_task(*spec_.executor, workers_, shape.B * shape.Hkv * blocks,
                  [&](std::size_t worker, std::size_t task) {
                    const std::size_t head = task / blocks;
                    run_block(memory_.workers[worker], head / shape.Hkv,
                              head % shape.Hkv, task % blocks);
                  });
  }

 private:
  void run_block(const ReceivedWorkerMemory& own, std::size_t b, std::size_t g,
                 std::size_t number) const {
    const SequencePlace place = spec_.shape.sequence(b);
    const SeenKeys seen = seen_keys(spec_, b);
    const std::size_t n = seen.first_block + number;
    if (place.Lq == 0 || n >= seen.end_block()) {
      return;
    }
    std::array<kernels::KeyPanel, kPanels> packed;
    const std::size_t first_key = seen.first_key(n);
    const std::size_t keys = seen.count(n);
    const bool stored =
        reads_stored_ && (call_.cache.options.dtype == DType::float32 ||
                          spec_.shape.group_size(g) * place.Lq <= kFewRows);
    const Block block = {
        b,
        g,
        spec_.shape.first_query_head(g),
        spec_.shape.group_size(g),
        place,
        first_key,
        keys,
        stored ? stored_panels(own, b, g, first_key, keys)
               : pack_panels(own, b, g, first_key, keys, packed),
        stored ? own.stored->key_loops()
               : stored_loops(spec_, kernels::StoredType::float32)};
    load_sums(block, own.sums);
    const std::size_t most = queries_of_a_tile(block.heads);
    for (std::size_t i = 0; i < place.Lq; i += most) {
      add_tile(own, block, i, std::min(most, place.Lq - i));
    }
    store_sums(block, own.sums);
  }

  std::span<const kernels::KeyPanel> stored_panels(
      const ReceivedWorkerMemory& own, std::size_t b, std::size_t g,
      std::size_t first, std::size_t keys) const {
    own.stored->begin(b, g);
    return own.stored->block(first, keys).panels;
  }

  std::span<const kernels::KeyPanel> pack_panels(
      const ReceivedWorkerMemory& own, std::size_t b, std::size_t g,
      std::size_t first, std::size_t keys,
      std::array<kernels::KeyPanel, kPanels>& packed) const {
    const std::size_t D = spec_.shape.D;
    const StoredHead stored(spec_, call_.cache, call_.ids[b].slot, g, {});
    const float* const rows = stored.rows(first, keys, own.keys);
    std::size_t panels = 0;
    for (std::size_t k = 0; k < keys; k += kPanelKeys, ++panels) {
      const kernels::Rows<const float> some = {
          rows + k * D, std::min(kPanelKeys, keys - k),
          static_cast<std::ptrdiff_t>(D), 1};
      loops_.pack_panel(some, 0, D, own.panels[panels]);
      packed[panels] = {own.panels[panels], nullptr,
                        kernels::panel_width(some.count)};
    }
    return std::span(packed).first(panels);
  }

  // visit(token, n, count) for those of the block's tokens [n, n + count) that
  // are in one page. Sums of tokens that a rolling window gave back are gone.
  template <class Visit>
  void for_each_part(const Block& block, const Visit& visit) const {
    const SequencePages& sequences = call_.cache.sequences;
    const std::size_t page_size = sequences.page_size();
    const std::uint32_t slot = call_.ids[block.b].slot;
    for (std::size_t n = 0; n < block.keys;) {
      const std::size_t token = block.first_key + n;
      const std::size_t count =
          std::min(block.keys - n, page_size - token % page_size);
      if (sequences.holds(slot, token)) {
        visit(token, n, count);
      }
      n += count;
    }
  }
  float* sums_at(const Block& block, std::size_t token,
                 std::size_t head) const {
    return sums_.at(call_.cache.sequences, call_.ids[block.b].slot, token,
                    block.first_head + head);
  }
  void load_sums(const Block& block, float* sums) const {
    std::fill_n(sums, block.heads * kKeyBlock, 0.0f);
    for_each_part(block,
                  [&](std::size_t token, std::size_t n, std::size_t count) {
                    for (std::size_t head = 0; head < block.heads; ++head) {
                      std::copy_n(sums_at(block, token, head), count,
                                  sums + head * kKeyBlock + n);
                    }
                  });
  }
  void store_sums(const Block& block, const float* sums) const {
    for_each_part(block,
                  [&](std::size_t token, std::size_t n, std::size_t count) {
                    for (std::size_t head = 0; head < block.heads; ++head) {
                      std::copy_n(sums + head * kKeyBlock + n, count,
                                  sums_at(block, token, head));
                    }
                  });
  }

  // Some queries of every head of the group; rows are those of one head after
  // those of another.
  void add_tile(const ReceivedWorkerMemory& own, const Block& block,
                std::size_t first, std::size_t queries) const {
    const Tile tile = {block.b, block.first_head, first,
                       queries, block.first_key,  block.keys};
    const SeenByRows seen =
        mask_rows(spec_.mask, tile, {block.heads, heads_see_the_same_},
                  own.words, own.key_words);
    if (seen.nothing) {
      return;
    }
    for (std::size_t head = 0; head < block.heads; ++head) {
      pack_query_rows(spec_,
                      number_rows<const void>(call_.tensors[CallTensor::query],
                                              block.place.batch,
                                              block.place.first_query + first,
                                              block.first_head + head, queries),
                      own.q + head * queries * packed_row_size(spec_));
    }
    const std::size_t rows = block.heads * queries;
    for (std::size_t row = 0; row < rows; row += kRowsAtOnce) {
      add_rows(own, block, tile, row, std::min(kRowsAtOnce, rows - row),
               seen.everything ? nullptr : own.key_words + row);
    }
  }

  void add_rows(const ReceivedWorkerMemory& own, const Block& block,
                const Tile& tile, std::size_t first, std::size_t count,
                const kernels::KeyWords* allowed) const {
    // What is in the scores of keys that no row sees does not matter.
    const kernels::KeyWords seen = seen_by_any(allowed, count);
    const std::size_t keys =
        seen[1] == 0 ? std::min(block.keys, kPanelKeys) : block.keys;
    std::size_t k = 0;
    for (const kernels::KeyPanel& panel : block.panels) {
      if (sees_any(seen, k, panel.width)) {
        block.loops.score(own.q + first * packed_row_size(spec_), count, panel,
                          spec_.shape.D, score_factor(spec_), own.scores + k);
      }
      k += panel.width;
    }
    for (std::size_t r = 0; has_terms_ && r < count; ++r) {
      apply_score_terms_to_row(spec_, row_of(tile, first + r),
                               own.scores + r * kKeyBlock);
    }
    float max[2 * kRowsAtOnce] = {};
    loops_.softmax(count, keys, allowed, own.scores, max);
    // The rows of one head at a time.
    for (std::size_t r = 0; r < count;) {
      const Tile row = row_of(tile, first + r);
      const std::size_t i = row.first_query - tile.first_query;
      const std::size_t some = std::min(count - r, tile.queries - i);
      add_rows_of_head(own, block, row,
                       {own.scores + r * kKeyBlock, max + r, nullptr, nullptr,
                        allowed == nullptr ? nullptr : allowed + r, some},
                       keys);
      r += some;
    }
  }

  // `row` is the first one.
  void add_rows_of_head(const ReceivedWorkerMemory& own, const Block& block,
                        const Tile& row, kernels::ReceivedRows rows,
                        std::size_t keys) const {
    const auto state = call_.tensors.floats<4>(CallTensor::softmax_rows);
    const std::size_t i = block.place.first_query + row.first_query;
    float max[kRowsAtOnce] = {};
    float sum[kRowsAtOnce] = {};
    for (std::size_t r = 0; r < rows.count; ++r) {
      max[r] = state(block.place.batch, row.h, i + r, 0);
      sum[r] = state(block.place.batch, row.h, i + r, 1);
    }
    rows.max = max;
    rows.sum = sum;
    received_.add(rows, keys,
                  own.sums + (row.h - block.first_head) * kKeyBlock);
  }

  static Tile row_of(Tile tile, std::size_t row) {
    tile.h += row / tile.queries;
    tile.first_query += row % tile.queries;
    tile.queries = 1;
    return tile;
  }

  const DecodeCall& call_;
  const AttentionSpec& spec_;
  ReceivedSums& sums_;
  std::size_t workers_;
  const ReceivedMemory& memory_;
  const kernels::RowTile& loops_;
  const kernels::ReceivedTile& received_;
  bool heads_see_the_same_;
  bool has_terms_;
  bool reads_stored_;
};

}  // namespace

std::size_t received_pass_bytes(const AttentionSpec& spec) {
  return bytes_taken<ReceivedMemory>(
      spec, std::max<std::size_t>(spec.executor->threads(), 1));
}

void add_received(const DecodeCall& call, ReceivedSums& sums,
                  std::byte* workspace) {
  const std::size_t workers = workers_for(call.spec);
  Arena arena(workspace);
  const ReceivedMemory memory(call.spec, workers, arena);
  ReceivedPass(call, sums, workers, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
