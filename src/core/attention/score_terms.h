// What comes between q.k and the mask: softcap, dense bias, T5's bias, ALiBi,
// in that order, on a tile of scores in the log2 domain.
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// Whether there are any, and whether there are any that a head has of its own.
bool has_score_terms(const AttentionSpec& spec);
bool has_head_terms(const AttentionSpec& spec);

// scores (tile.keys, lanes), one query a lane; a -inf bias is left to the mask.
// `slope`, of the same size, takes the derivative of softcap where there is one
// (null: it is not wanted).
void apply_score_terms(const AttentionSpec& spec, const Tile& tile,
                       std::size_t lanes, float* scores,
                       float* slope = nullptr);
// The same for a tile of one query: scores (tile.keys), rounded up to whole
// vectors, one key a lane.
void apply_score_terms_to_row(const AttentionSpec& spec, const Tile& tile,
                              float* scores);
// The first of them alone: what an added key has. scores (keys, lanes).
void apply_softcap(const AttentionSpec& spec, std::size_t keys,
                   std::size_t lanes, float* scores, float* slope = nullptr);

}  // namespace headwise::inline HEADWISE_ABI
