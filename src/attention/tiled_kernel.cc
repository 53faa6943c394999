// The kernel on the CPU: tiles of queries against packed keys and values,
// spread over the threads. The bits of a row depend on none of it.
#include <new>
#include <optional>
#include <vector>

#include "attention/kernel.h"
#include "attention/packed_head.h"
#include "attention/query_tile.h"
#include "run/float_environment.h"

namespace headwise {
namespace {

// Splits Lq queries into tiles of whole vectors as evenly as they go, so that
// the last tile is not a thin one.
class Tiling {
 public:
  explicit Tiling(std::size_t Lq) : Lq_(Lq) {
    const kernels::AttentionTile& loops = kernels::attention_tile();
    vector_ = loops.vector_lanes;
    vectors_ = (Lq + vector_ - 1) / vector_;
    const std::size_t most = loops.query_lanes / vector_;
    count_ = (vectors_ + most - 1) / most;
  }

  std::size_t count() const { return count_; }
  std::size_t first(std::size_t tile) const {
    return std::min(Lq_, vectors_ * tile / count_ * vector_);
  }
  QueryRange range(std::size_t b, std::size_t h, std::size_t tile) const {
    return {b, h, first(tile), first(tile + 1) - first(tile)};
  }

 private:
  std::size_t Lq_;
  std::size_t vector_;
  std::size_t vectors_;
  std::size_t count_;
};

class Call {
 public:
  Call(const AttentionSpec& spec, const AttentionInputsOf<float>& inputs,
       const AttentionOutputs& outputs)
      : spec_(spec),
        inputs_(inputs),
        outputs_(outputs),
        tiling_(spec.shape.Lq) {}

  // A task is a key head: packed once, for all the queries that read it.
  void by_key_head() const {
    const AttentionShape& shape = spec_.shape;
    const std::size_t group = shape.Hq / shape.Hkv;
    spec_.executor->parallel_for(
        shape.B * shape.Hkv, 1, [&](std::size_t begin, std::size_t end) {
          const FloatEnvironment environment;
          PackedHead head(shape.Lkv, shape.D, shape.Dv);
          QueryTile tile(spec_);
          for (std::size_t task = begin; task < end; ++task) {
            const std::size_t b = task / shape.Hkv;
            const std::size_t g = task % shape.Hkv;
            head.pack(inputs_.key, inputs_.value, b, g);
            for (std::size_t h = g * group; h < (g + 1) * group; ++h) {
              for (std::size_t t = 0; t < tiling_.count(); ++t) {
                const QueryRange range = tiling_.range(b, h, t);
                tile.run(range, inputs_, outputs_, head, weights_of(range));
              }
            }
          }
        });
  }

  // Few key heads: all are packed first, then a task is a tile of queries.
  void by_tile() const {
    const AttentionShape& shape = spec_.shape;
    const std::vector<PackedHead> heads = pack_all();
    const std::size_t tiles = tiling_.count();
    spec_.executor->parallel_for(
        shape.B * shape.Hq * tiles, 1, [&](std::size_t begin, std::size_t end) {
          const FloatEnvironment environment;
          QueryTile tile(spec_);
          for (std::size_t task = begin; task < end; ++task) {
            const std::size_t b = task / tiles / shape.Hq;
            const std::size_t h = task / tiles % shape.Hq;
            const QueryRange range = tiling_.range(b, h, task % tiles);
            tile.run(range, inputs_, outputs_,
                     heads[b * shape.Hkv + shape.kv_head(h)],
                     weights_of(range));
          }
        });
  }

  // The mean of the attention weights takes the heads of a tile in order.
  void with_mean() const {
    const AttentionShape& shape = spec_.shape;
    const std::vector<PackedHead> heads = pack_all();
    const std::size_t tiles = tiling_.count();
    spec_.executor->parallel_for(
        shape.B * tiles, 1, [&](std::size_t begin, std::size_t end) {
          const FloatEnvironment environment;
          QueryTile tile(spec_);
          const AlignedBuffer memory(
              std::max<std::size_t>(kernels::kMaxQueryLanes * shape.Lkv, 1));
          for (std::size_t task = begin; task < end; ++task) {
            const std::size_t b = task / tiles;
            for (std::size_t h = 0; h < shape.Hq; ++h) {
              const QueryRange range = tiling_.range(b, h, task % tiles);
              const TensorView<float, 2> weights(memory.data(),
                                                 {range.count, shape.Lkv});
              tile.run(range, inputs_, outputs_,
                       heads[b * shape.Hkv + shape.kv_head(h)], weights);
              add_to_mean(range, weights);
            }
          }
        });
  }

 private:
  TensorView<float, 2> weights_of(const QueryRange& range) const {
    const TensorView<float, 4>& all = outputs_.attn_weights;
    if (spec_.attn_weights == AttnWeights::none || spec_.shape.Lkv == 0) {
      return {};
    }
    return {&all(range.b, range.h, range.first, 0),
            {range.count, spec_.shape.Lkv},
            {all.stride(2), all.stride(3)}};
  }

  void add_to_mean(const QueryRange& range,
                   TensorView<const float, 2> weights) const {
    const bool first = range.h == 0;
    const bool last = range.h + 1 == spec_.shape.Hq;
    const auto heads = static_cast<float>(spec_.shape.Hq);
    for (std::size_t n = 0; n < range.count; ++n) {
      for (std::size_t j = 0; j < spec_.shape.Lkv; ++j) {
        float& mean = outputs_.attn_weights(range.b, 0, range.first + n, j);
        mean = (first ? 0 : mean) + weights(n, j);
        mean = last ? mean / heads : mean;
      }
    }
  }

  std::vector<PackedHead> pack_all() const {
    const AttentionShape& shape = spec_.shape;
    std::vector<PackedHead> heads;
    heads.reserve(shape.B * shape.Hkv);
    for (std::size_t n = 0; n < shape.B * shape.Hkv; ++n) {
      heads.emplace_back(shape.Lkv, shape.D, shape.Dv);
    }
    spec_.executor->parallel_for(
        heads.size(), 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t n = begin; n < end; ++n) {
            heads[n].pack(inputs_.key, inputs_.value, n / shape.Hkv,
                          n % shape.Hkv);
          }
        });
    return heads;
  }

  const AttentionSpec& spec_;
  const AttentionInputsOf<float>& inputs_;
  const AttentionOutputs& outputs_;
  Tiling tiling_;
};

}  // namespace

Status forward_kernel(const AttentionSpec& spec,
                      const AttentionInputsOf<float>& inputs,
                      const AttentionOutputs& outputs) {
  const AttentionShape& shape = spec.shape;
  if (shape.B * shape.Lq == 0) {
    return ok();
  }
  const std::size_t threads = spec.executor->threads();
  try {
    const Call call(spec, inputs, outputs);
    if (spec.attn_weights == AttnWeights::mean) {
      call.with_mean();
    } else if (threads == 1 || shape.B * shape.Hkv >= 2 * threads) {
      call.by_key_head();
    } else {
      call.by_tile();
    }
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "attention: the packed keys and values need more memory than "
                 "there is"};
  }
  return ok();
}

}  // namespace headwise
