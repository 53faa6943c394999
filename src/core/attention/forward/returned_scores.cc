#include "attention/forward/returned_scores.h"

#include <algorithm>

#include "attention/log2_domain.h"
#include "attention/packed_numbers.h"
#include "attention/score_terms.h"
#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kMaxQueryLanes;

namespace {

bool computed(ScoresStage stage) {
  return stage != ScoresStage::none && stage != ScoresStage::softmax;
}

}  // namespace

ReturnedScores::ReturnedScores(const AttentionSpec& spec, Arena& arena)
    : spec_(spec), keys_(nullptr), scores_(nullptr), allowed_(nullptr) {
  if (computed(spec.scores)) {
    keys_ = arena.take<float>(kKeyBlock, packed_key_size(spec));
    scores_ = arena.take<float>(kKeyBlock, kMaxQueryLanes);
    allowed_ = arena.take<kernels::MaskWord>(kKeyBlock);
  }
}

void ReturnedScores::compute(const TileScores& scores, const Tile& tile,
                             const float* q_t, std::size_t lanes,
                             const PackedHead& head) const {
  scores.compute(q_t, head.any_keys(tile.first_key, tile.keys, keys_),
                 tile.keys, tile.queries, lanes, scores_);
  if (spec_.scores == ScoresStage::bias) {
    apply_score_terms(spec_, tile, lanes, scores_);
  } else if (spec_.scores == ScoresStage::softcap) {
    apply_softcap(spec_, tile.keys, lanes, scores_);
  }
}

void ReturnedScores::mask(const Tile& tile, std::size_t lanes) const {
  fill_words(spec_.mask, tile, {allowed_, kKeyBlock});
  kernels::attention_tile().mask(allowed_, tile.keys, lanes, scores_);
}

void ReturnedScores::store(const TileScores& scores, const QueryRange& range,
                           const float* q_t, std::size_t lanes,
                           const PackedHead& head,
                           const TensorView<float, 4>& to) const {
  const std::size_t Lkv = spec_.shape.sequence(range.b).Lkv;
  for (std::size_t first = 0; first < Lkv; first += kKeyBlock) {
    const Tile tile{range.b,     range.h, range.first,
                    range.count, first,   std::min(kKeyBlock, Lkv - first)};
    const TileKind kind = spec_.scores == ScoresStage::bias
                              ? classify(spec_.mask, tile)
                              : TileKind::full;
    if (kind == TileKind::empty) {
      std::fill_n(scores_, tile.keys * lanes, kMinusInf);
    } else {
      compute(scores, tile, q_t, lanes, head);
    }
    if (kind == TileKind::partial) {
      mask(tile, lanes);
    }
    kernels::Rows<float> there = rows_of(to, range);
    there.data = &there.at(0, first);
    kernels::tile_layout().store_scaled(scores_, kLn2, tile.keys, lanes, there);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
