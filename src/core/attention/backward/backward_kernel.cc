// The backward pass on the CPU. The gradient of a key is summed over the blocks
// of queries in order, that of a query over the blocks of keys in order;
// whatever the workers share between them keeps both orders.
#include "attention/backward/backward_kernel.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "attention/backward/bias_gradient.h"
#include "attention/backward/gradient_block.h"
#include "attention/backward/gradient_head.h"
#include "attention/check_parts.h"
#include "attention/row_sums.h"
#include "attention/tasks.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kQueryBlock;

namespace {

std::size_t query_blocks(std::size_t queries) {
  return (queries + kQueryBlock - 1) / kQueryBlock;
}

// Room for the shares of a head's blocks of queries on the batch axis. That of
// a ragged batch follows its rows, however long the longest sequence is.
std::size_t share_blocks(const AttentionShape& shape) {
  return shape.offsets.ragged() ? first_share_block(shape.B, shape.query_rows())
                                : query_blocks(shape.Lq);
}

// The shares of all blocks of queries, `elements` each, in that memory.
TensorView<float, 4> shares_in(float* memory, const AttentionShape& shape,
                               std::size_t elements) {
  return {memory, {shape.batches(), shape.Hq, share_blocks(shape), elements}};
}

// Their memory, where the gradient is wanted.
float* take_shares(const TensorArg& gradient, const AttentionShape& shape,
                   std::size_t elements, Arena& arena) {
  return !gradient.given() ? nullptr
                           : arena.take<float>(shape.batches(), shape.Hq,
                                               share_blocks(shape), elements);
}

// What the rows give to a gradient of the heads: the caller's state, or memory
// where only their sum is wanted.
TensorView<float, 3> row_shares(const CallTensors& tensors, CallTensor gradient,
                                CallTensor state, const AttentionShape& shape,
                                Arena& arena) {
  if (tensors.has(state) || !tensors.has(gradient)) {
    return tensors.floats<3>(state);
  }
  const Extents<3> extents = {shape.batches(), shape.Hq, shape.query_rows()};
  return {arena.take<float>(extents[0], extents[1], extents[2]), extents};
}

// BackwardMemory for what each sequence gives to the gradient of a tensor of
// the key heads, where it is wanted.
float* take_of_heads(const TensorArg& gradient, const AttentionShape& shape,
                     Arena& arena) {
  return !gradient.given()
             ? nullptr
             : arena.take<float>(shape.B, shape.Hkv, gradient.extent(1));
}

// What one worker computes in.
struct BackwardWorkerMemory {
  // This many heads and blocks of queries belong to it.
  BackwardWorkerMemory(const AttentionSpec& spec, const WantedGradients& wanted,
                       std::size_t own_heads, std::size_t own_blocks,
                       Arena& arena)
      : scratch(make_array<GradientScratch>(arena, 1, spec)),
        heads(make_array<GradientHead>(arena, own_heads, spec, wanted)),
        blocks(make_array<GradientBlock>(arena, own_blocks, spec, wanted)) {}

  std::span<GradientScratch> scratch;
  std::span<GradientHead> heads;
  std::span<GradientBlock> blocks;
};

// All memory of a call.
struct BackwardMemory {
  BackwardMemory(const AttentionSpec& spec, const BackwardSchedule& schedule,
                 const CallTensors& tensors, Arena& arena)
      : order(arena.take<std::size_t>(spec.shape.B)),
        d_slopes(row_shares(tensors, CallTensor::d_alibi,
                            CallTensor::state_d_alibi, spec.shape, arena)),
        d_t5_biases(take_shares(tensors[CallTensor::d_t5_bias], spec.shape,
                                spec.t5_bias.table().extent(0), arena)),
        d_sinks(row_shares(tensors, CallTensor::d_sinks,
                           CallTensor::state_d_sinks, spec.shape, arena)),
        d_score_weights(take_shares(tensors[CallTensor::d_score_weight],
                                    spec.shape, spec.shape.D, arena)),
        d_bias_k(
            take_of_heads(tensors[CallTensor::d_bias_k], spec.shape, arena)),
        d_bias_v(
            take_of_heads(tensors[CallTensor::d_bias_v], spec.shape, arena)),
        heads(make_array<GradientHead>(arena, schedule.whole_heads ? 0 : 1,
                                       spec, WantedGradients(tensors))),
        blocks(make_array<GradientBlock>(
            arena, schedule.whole_heads ? 0 : query_blocks(spec.shape.Lq), spec,
            WantedGradients(tensors))),
        workers(make_array<BackwardWorkerMemory>(
            arena, schedule.workers, spec, WantedGradients(tensors),
            own_heads(schedule, tensors),
            own_heads(schedule, tensors) *
                (schedule.whole_heads ? schedule.blocks_at_once : 1))) {}

  // A worker that goes through the heads of a bias needs its own, too.
  static std::size_t own_heads(const BackwardSchedule& schedule,
                               const CallTensors& tensors) {
    return schedule.whole_heads || tensors.has(CallTensor::d_bias) ? 1 : 0;
  }

  std::size_t* order;             // the sequences, those with most work first
  TensorView<float, 3> d_slopes;  // of BlockShares, as those below
  float* d_t5_biases;
  TensorView<float, 3> d_sinks;
  float* d_score_weights;
  float* d_bias_k;  // (B, Hkv, D), what each sequence gives
  float* d_bias_v;  // (B, Hkv, Dv)
  std::span<GradientHead> heads;
  std::span<GradientBlock> blocks;
  std::span<BackwardWorkerMemory> workers;
};

class BackwardCall {
 public:
  BackwardCall(const AttentionSpec& spec, const BackwardSchedule& schedule,
               const CallTensors& tensors, const BackwardMemory& memory)
      : spec_(spec),
        schedule_(schedule),
        tensors_(tensors),
        memory_(memory),
        shares_{memory.d_slopes,
                shares_in(memory.d_t5_biases, spec.shape,
                          spec.t5_bias.table().extent(0)),
                shares_in(memory.d_score_weights, spec.shape, spec.shape.D),
                memory.d_sinks} {}

  void run() const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t heads = shape.B * shape.Hkv;
    order_sequences(spec_, schedule_.workers, {memory_.order, shape.B});
    if (schedule_.whole_heads) {
      for_each_task(heads, [&](BackwardWorkerMemory& own, std::size_t task) {
        whole_head(own, memory_.order[task / shape.Hkv], task % shape.Hkv);
      });
    } else {
      for (std::size_t n = 0; n < heads; ++n) {
        shared_head(n / shape.Hkv, n % shape.Hkv);
      }
    }
    using enum CallTensor;
    if (tensors_.has(d_alibi)) {
      add_rows_up(spec_.shape, shares_.slopes, tensors_.floats<1>(d_alibi));
    }
    if (tensors_.has(d_sinks)) {
      add_rows_up(spec_.shape, shares_.sinks, tensors_.floats<1>(d_sinks));
    }
    add_sequences_up(memory_.d_bias_k, tensors_.floats<2>(d_bias_k));
    add_sequences_up(memory_.d_bias_v, tensors_.floats<2>(d_bias_v));
    if (tensors_.has(d_t5_bias)) {
      const auto table = tensors_.floats<2>(d_t5_bias);
      add_shares_up(shares_.t5_bias,
                    [&](std::size_t h, std::size_t n) { return &table(n, h); });
    }
    if (tensors_.has(d_score_weight)) {
      const auto weight = tensors_.floats<2>(d_score_weight);
      add_shares_up(shares_.score_weight, [&](std::size_t h, std::size_t c) {
        return &weight(h, c);
      });
    }
    if (tensors_.has(d_bias)) {
      for_each_task(bias_tasks(spec_, tensors_.floats<4>(d_bias)),
                    [&](BackwardWorkerMemory& own, std::size_t task) {
                      bias_gradient(spec_, tensors_, task, own.heads.front(),
                                    own.blocks.front(), own.scratch.front());
                    });
    }
  }

 private:
  template <class Work>
  void for_each_task(std::size_t count, const Work& work) const {
    headwise::for_each_task(*spec_.executor, schedule_.workers, count,
                            [&](std::size_t worker, std::size_t task) {
                              work(memory_.workers[worker], task);
                            });
  }

  float scale() const { return static_cast<float>(spec_.scale); }

  // Block n of the queries of head h.
  QueryRange range_of(std::size_t b, std::size_t h, std::size_t n) const {
    const std::size_t first = n * kQueryBlock;
    return {b, h, first,
            std::min(kQueryBlock, spec_.shape.sequence(b).Lq - first)};
  }

  void begin(GradientBlock& block, const QueryRange& range,
             const GradientHead& head, const GradientScratch& own) const {
    block.begin(range, tensors_, own);
    if (!has_first_keys(spec_.key_part)) {
      block.resume(tensors_);
    }
    if (tensors_.has(CallTensor::d_attn_weights)) {
      block.add_given(head, own);
    }
  }

  void finish(const GradientBlock& block) const {
    if (has_last_keys(spec_.key_part)) {
      block.finish(tensors_, shares_);
    } else {
      block.save(tensors_);
    }
  }

  void pack(GradientHead& head, std::size_t block) const {
    head.pack(tensors_, block);
    if (!has_first_queries(spec_.query_part)) {
      head.resume(tensors_, block);
    }
  }

  void store(const GradientHead& head, std::size_t block) const {
    if (has_last_queries(spec_.query_part)) {
      head.store(tensors_, scale(), block);
    } else {
      head.save(tensors_, block);
    }
  }

  // One worker does all of a head: some blocks of queries at a time go through
  // the blocks of keys.
  void whole_head(BackwardWorkerMemory& own, std::size_t b,
                  std::size_t g) const {
    GradientHead& head = own.heads.front();
    const GradientScratch& scratch = own.scratch.front();
    head.begin(spec_, b, g);
    for (std::size_t n = 0; n < head.all_blocks(); ++n) {
      pack(head, n);
    }
    const std::size_t count = query_blocks(spec_.shape.sequence(b).Lq);
    for (std::size_t h = spec_.shape.first_query_head(g);
         h < spec_.shape.first_query_head(g + 1); ++h) {
      for (std::size_t first = 0; first < count;
           first += schedule_.blocks_at_once) {
        const std::span<GradientBlock> blocks =
            own.blocks.first(std::min(schedule_.blocks_at_once, count - first));
        for (std::size_t n = 0; n < blocks.size(); ++n) {
          begin(blocks[n], range_of(b, h, first + n), head, scratch);
        }
        for (std::size_t n = 0; n < head.all_blocks(); ++n) {
          for (GradientBlock& block : blocks) {
            block.take(head, n, scratch);
          }
        }
        for (const GradientBlock& block : blocks) {
          finish(block);
        }
      }
    }
    for (std::size_t n = 0; n < head.blocks(); ++n) {
      store(head, n);
    }
    head.clear_others(tensors_);
    store_learned(head, b, g);
  }

  // What the sequence gives to the learned added key of the head.
  void store_learned(const GradientHead& head, std::size_t b,
                     std::size_t g) const {
    if (spec_.added_keys.learned()) {
      const std::size_t n = b * spec_.shape.Hkv + g;
      head.store_learned(scale(), of_head(memory_.d_bias_k, n, spec_.shape.D),
                         of_head(memory_.d_bias_v, n, spec_.shape.Dv));
    }
  }
  static float* of_head(float* memory, std::size_t n, std::size_t size) {
    return memory == nullptr ? nullptr : memory + n * size;
  }

  // All workers do one head together.
  void shared_head(std::size_t b, std::size_t g) const {
    GradientHead& head = memory_.heads.front();
    head.begin(spec_, b, g);
    for_each_task(head.all_blocks(),
                  [&](BackwardWorkerMemory&, std::size_t n) { pack(head, n); });
    const std::span<GradientBlock> blocks =
        memory_.blocks.first(query_blocks(spec_.shape.sequence(b).Lq));
    for (std::size_t h = spec_.shape.first_query_head(g);
         h < spec_.shape.first_query_head(g + 1); ++h) {
      for_each_task(
          blocks.size(), [&](BackwardWorkerMemory& own, std::size_t n) {
            begin(blocks[n], range_of(b, h, n), head, own.scratch.front());
          });
      take_in_waves(blocks, head);
      for_each_task(blocks.size(), [&](BackwardWorkerMemory&, std::size_t n) {
        finish(blocks[n]);
      });
    }
    for_each_task(head.blocks(), [&](BackwardWorkerMemory&, std::size_t n) {
      store(head, n);
    });
    head.clear_others(tensors_);
    store_learned(head, b, g);
  }

  // The keys are cut into ranges and the blocks of queries into chunks. Chunk c
  // meets range r in wave r + c: after it has met the ranges before, and after
  // the chunks before have met that range.
  void take_in_waves(std::span<GradientBlock> blocks,
                     const GradientHead& head) const {
    const std::size_t ranges =
        std::clamp<std::size_t>(head.all_blocks(), 1, schedule_.key_ranges);
    const std::size_t size = schedule_.blocks_at_once;
    const std::size_t chunks = (blocks.size() + size - 1) / size;
    for (std::size_t wave = 0; chunks != 0 && wave < ranges + chunks - 1;
         ++wave) {
      const std::size_t first = wave < chunks ? 0 : wave - chunks + 1;
      const std::size_t end = std::min(ranges, wave + 1);
      for_each_task(
          end - first, [&](BackwardWorkerMemory& own, std::size_t task) {
            const std::size_t range = first + task;
            const std::size_t chunk = wave - range;
            const std::span<GradientBlock> some = blocks.subspan(
                chunk * size, std::min(size, blocks.size() - chunk * size));
            for (std::size_t n = range * head.all_blocks() / ranges;
                 n < (range + 1) * head.all_blocks() / ranges; ++n) {
              for (GradientBlock& block : some) {
                block.take(head, n, own.scratch.front());
              }
            }
          });
    }
  }

  // What the sequences give to a tensor of the key heads, in their order.
  void add_sequences_up(const float* shares,
                        const TensorView<float, 2>& sums) const {
    const FloatEnvironment environment;
    const std::size_t Hkv = spec_.shape.Hkv;
    const std::size_t size = sums.extent(1);
    for (std::size_t g = 0; sums.data() != nullptr && g < Hkv; ++g) {
      for (std::size_t c = 0; c < size; ++c) {
        float sum = 0;
        for (std::size_t b = 0; b < spec_.shape.B; ++b) {
          sum += shares[(b * Hkv + g) * size + c];
        }
        sums(g, c) = std::isnan(sum) ? kNaN : sum;
      }
    }
  }

  // Sequence by sequence, block of queries by block: element n of the shares of
  // head h goes to *place_of(h, n).
  template <class Place>
  void add_shares_up(const TensorView<float, 4>& shares,
                     const Place& place_of) const {
    const FloatEnvironment environment;
    for (std::size_t h = 0; h < spec_.shape.Hq; ++h) {
      for (std::size_t c = 0; c < shares.extent(3); ++c) {
        float sum = 0;
        for (std::size_t b = 0; b < spec_.shape.B; ++b) {
          const SequencePlace place = spec_.shape.sequence(b);
          const std::size_t first = first_share_block(spec_.shape, b);
          for (std::size_t n = 0; n < query_blocks(place.Lq); ++n) {
            sum += shares(place.batch, h, first + n, c);
          }
        }
        *place_of(h, c) = std::isnan(sum) ? kNaN : sum;
      }
    }
  }

  const AttentionSpec& spec_;
  const BackwardSchedule& schedule_;
  const CallTensors& tensors_;
  const BackwardMemory& memory_;
  BlockShares shares_;
};

}  // namespace

BackwardSchedule backward_schedule_of(const AttentionSpec& spec) {
  // A block of keys and what belongs to it, and two blocks of queries with what
  // belongs to them, fit into the second-level cache.
  constexpr std::size_t kBlocksAtOnce = 2;
  const std::size_t workers = workers_for(spec);
  if (heads_suffice(spec, workers)) {
    return {workers, true, 1, kBlocksAtOnce};
  }
  // Under a causal mask the last ranges have little to do: the more there are,
  // the more evenly they fall.
  return {workers, false, 4 * workers, kBlocksAtOnce};
}

std::size_t backward_workspace_bytes(const AttentionSpec& spec,
                                     const BackwardSchedule& schedule,
                                     const CallTensors& tensors) {
  return bytes_taken<BackwardMemory>(spec, schedule, tensors);
}

void backward_kernel(const AttentionSpec& spec,
                     const BackwardSchedule& schedule,
                     const CallTensors& tensors, std::byte* workspace) {
  Arena arena(workspace);
  const BackwardMemory memory(spec, schedule, tensors, arena);
  BackwardCall(spec, schedule, tensors, memory).run();
}

}  // namespace headwise::inline HEADWISE_ABI
