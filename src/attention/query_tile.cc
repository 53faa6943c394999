#include "attention/query_tile.h"

#include <algorithm>
#include <cmath>

#include "attention/empty_row.h"
#include "attention/log2_sum.h"
#include "attention/score_terms.h"

namespace headwise {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;
using kernels::RowState;

namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
// Up to so many keys the p of all blocks are kept for the attention weights;
// beyond, they are computed again from the same scores.
constexpr std::size_t kKeptKeys = 1024;

std::size_t blocks_in(std::size_t keys) {
  return (keys + kKeyBlock - 1) / kKeyBlock;
}

}  // namespace

QueryTile::QueryTile(const AttentionSpec& spec)
    : spec_(spec), loops_(kernels::attention_tile()), allowed_(kKeyBlock) {
  const std::size_t blocks = keeps_p() ? blocks_in(spec.shape.Lkv) : 1;
  const std::size_t Dv8 = (spec.shape.Dv + 7) / 8 * 8;
  q_t_ = AlignedBuffer(spec.shape.D * kMaxQueryLanes);
  scores_ = AlignedBuffer(std::max<std::size_t>(blocks, 1) * kKeyBlock *
                          kMaxQueryLanes);
  maxima_ = AlignedBuffer(std::max<std::size_t>(blocks, 1) * kMaxQueryLanes);
  context_ = AlignedBuffer(Dv8 * kMaxQueryLanes);
  rows_ = AlignedBuffer(3 * kMaxQueryLanes);
}

bool QueryTile::keeps_p() const {
  return spec_.attn_weights != AttnWeights::none && !spec_.dropout.active() &&
         spec_.shape.Lkv <= kKeptKeys;
}

Tile QueryTile::tile_of(const QueryRange& range, std::size_t block,
                        std::size_t count) {
  return {range.b, range.h, range.first, range.count, block * kKeyBlock, count};
}

std::vector<QueryTile::Block> QueryTile::blocks_of(const QueryRange& range) {
  std::vector<Block> blocks;
  const std::size_t end =
      std::min(spec_.shape.Lkv,
               spec_.mask.visible_end(range.b, range.first, range.count));
  for (std::size_t index = 0; index < blocks_in(end); ++index) {
    const std::size_t count = std::min(kKeyBlock, end - index * kKeyBlock);
    const TileKind kind = spec_.mask.classify(tile_of(range, index, count));
    if (kind == TileKind::empty) {
      continue;
    }
    const std::size_t place = keeps_p() ? index : 0;
    blocks.push_back({index, count, kind,
                      scores_.data() + place * kKeyBlock * lanes_,
                      maxima_.data() + place * lanes_});
  }
  return blocks;
}

void QueryTile::softmax_block(const QueryRange& range, const Block& block,
                              const PackedHead& head) {
  loops_.score(q_t_.data(), head.keys(block.index * kKeyBlock), spec_.shape.D,
               block.count, spec_.shape.D, lanes_, block.p);
  apply_score_terms(spec_, tile_of(range, block.index, block.count), lanes_,
                    block.p);
  if (block.kind == TileKind::partial) {
    spec_.mask.fill_words(tile_of(range, block.index, block.count), allowed_);
    loops_.mask(allowed_.data(), block.count, lanes_, block.p);
  }
  loops_.softmax(block.count, lanes_, block.p, block.max, rows_.data());
}

void QueryTile::drop(const QueryRange& range, const Block& block) const {
  const auto factor = static_cast<float>(spec_.dropout.factor());
  for (std::size_t k = 0; k < block.count; ++k) {
    float* p = block.p + k * lanes_;
    for (std::size_t n = 0; n < range.count; ++n) {
      const bool kept = spec_.dropout.keeps(range.b, range.h, range.first + n,
                                            block.index * kKeyBlock + k);
      p[n] = kept ? p[n] * factor : 0;
    }
  }
}

void QueryTile::run(const QueryRange& range,
                    const AttentionInputsOf<float>& inputs,
                    const AttentionOutputs& outputs, const PackedHead& head,
                    TensorView<float, 2> attn_weights) {
  const std::size_t vector = loops_.vector_lanes;
  lanes_ = (range.count + vector - 1) / vector * vector;
  const auto factor = static_cast<float>(spec_.scale * kLog2E);
  loops_.pack_queries(&inputs.query(range.b, range.first, range.h, 0),
                      inputs.query.stride(1), inputs.query.stride(3),
                      range.count, spec_.shape.D, factor, lanes_, q_t_.data());

  const float* block_sum = rows_.data();
  const RowState state{rows_.data() + lanes_, rows_.data() + 2 * lanes_};
  std::fill_n(state.max, lanes_, kMinusInf);
  std::fill_n(state.sum, lanes_, 0.0f);
  std::fill_n(context_.data(), head.value_columns() * lanes_, 0.0f);

  const std::vector<Block> blocks = blocks_of(range);
  for (const Block& block : blocks) {
    softmax_block(range, block, head);
    if (spec_.dropout.active()) {
      drop(range, block);
    }
    const float* values = head.values(block.index);
    const std::size_t rows = head.rows(block.index);
    if (block.kind == TileKind::partial && head.not_finite(block.index)) {
      loops_.weigh_allowed(block.p, values, rows, allowed_.data(), block.count,
                           head.value_columns(), lanes_, block.max, block_sum,
                           state, context_.data());
    } else {
      loops_.weigh(block.p, values, rows, block.count, head.value_columns(),
                   lanes_, block.max, block_sum, state, context_.data());
    }
    loops_.fold(block.max, block_sum, lanes_, state);
  }

  loops_.store(context_.data(), state.sum, range.count, spec_.shape.Dv, lanes_,
               &outputs.output(range.b, range.first, range.h, 0),
               outputs.output.stride(1), outputs.output.stride(3));
  if (outputs.lse.data() != nullptr) {
    store_lse(range, outputs.lse);
  }
  if (attn_weights.data() != nullptr) {
    store_weights(range, blocks, head, attn_weights);
  }
  finish_empty_rows(range, inputs.value, outputs, attn_weights);
}

void QueryTile::finish_empty_rows(const QueryRange& range,
                                  TensorView<const float, 4> value,
                                  const AttentionOutputs& outputs,
                                  TensorView<float, 2> weights) const {
  const float* sum = rows_.data() + 2 * lanes_;
  for (std::size_t n = 0; n < range.count; ++n) {
    if (sum[n] != 0) {
      continue;
    }
    const RowIndex row{range.b, range.h, range.first + n};
    for (std::size_t c = 0; c < spec_.shape.Dv; ++c) {
      outputs.output(row.b, row.i, row.h, c) =
          empty_output(spec_, row, value, c);
    }
    for (std::size_t j = 0; j < weights.extent(1); ++j) {
      weights(n, j) = empty_weight(spec_, row, j);
    }
  }
}

void QueryTile::store_lse(const QueryRange& range,
                          TensorView<float, 3> lse) const {
  const float* max = rows_.data() + lanes_;
  const float* sum = rows_.data() + 2 * lanes_;
  constexpr float kLn2 = 0x1.62e43p-1f;
  for (std::size_t n = 0; n < range.count; ++n) {
    const float row = sum[n] == 0          ? kMinusInf
                      : std::isnan(sum[n]) ? kNaN
                                           : kLn2 * (max[n] + log2_sum(sum[n]));
    lse(range.b, range.h, range.first + n) = row;
  }
}

void QueryTile::store_weights(const QueryRange& range,
                              const std::vector<Block>& blocks,
                              const PackedHead& head,
                              TensorView<float, 2> weights) {
  const RowState state{rows_.data() + lanes_, rows_.data() + 2 * lanes_};
  const std::size_t Lkv = spec_.shape.Lkv;
  std::size_t next = 0;  // the first key whose weight is not written
  const auto zeros_up_to = [&](std::size_t end) {
    for (std::size_t n = 0; n < range.count; ++n) {
      for (std::size_t j = next; j < end; ++j) {
        weights(n, j) = 0;
      }
    }
  };
  for (const Block& block : blocks) {
    const std::size_t first = block.index * kKeyBlock;
    zeros_up_to(first);
    next = first + block.count;
    if (!keeps_p()) {
      softmax_block(range, block, head);
      if (spec_.attn_weights == AttnWeights::after_dropout &&
          spec_.dropout.active()) {
        drop(range, block);
      }
    }
    const kernels::MaskWord* allowed = nullptr;
    if (block.kind == TileKind::partial) {
      spec_.mask.fill_words(tile_of(range, block.index, block.count), allowed_);
      allowed = allowed_.data();
    }
    loops_.store_weights(block.p, allowed, block.max, state, range.count,
                         block.count, lanes_, &weights(0, first),
                         weights.stride(0), weights.stride(1));
  }
  zeros_up_to(Lkv);
}

}  // namespace headwise
