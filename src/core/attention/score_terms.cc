#include "attention/score_terms.h"

#include <algorithm>

#include "attention/log2_domain.h"
#include "kernels/row_tile.h"
#include "kernels/score_terms.h"
#include "steps/t5_tile.h"

namespace headwise::inline HEADWISE_ABI {

bool has_head_terms(const AttentionSpec& spec) {
  return spec.bias.given() || spec.t5_bias.given() || spec.alibi.given();
}

bool has_score_terms(const AttentionSpec& spec) {
  return spec.softcap || has_head_terms(spec);
}

void apply_softcap(const AttentionSpec& spec, std::size_t keys,
                   std::size_t lanes, float* scores, float* slope) {
  const kernels::ScoreTerms& terms = kernels::score_terms();
  if (spec.softcap && slope != nullptr) {
    terms.softcap_with_slope(times_log2e(*spec.softcap), keys, lanes, scores,
                             slope);
  } else if (spec.softcap) {
    terms.softcap(times_log2e(*spec.softcap), keys, lanes, scores);
  }
}

void apply_score_terms(const AttentionSpec& spec, const Tile& tile,
                       std::size_t lanes, float* scores, float* slope) {
  const kernels::ScoreTerms& terms = kernels::score_terms();
  apply_softcap(spec, tile.keys, lanes, scores, slope);
  if (spec.bias.given()) {
    terms.add_bias(
        {&spec.bias(tile.b, tile.h, tile.first_query, tile.first_key),
         spec.bias.query_stride(), spec.bias.key_stride(), tile.queries,
         tile.keys},
        lanes, scores);
  }
  if (spec.t5_bias.given()) {
    float diagonals[kernels::kMostDiagonals];
    fill_diagonals(spec.t5_bias, tile, {diagonals, tile.keys + lanes - 1});
    terms.add_diagonals(diagonals, tile.keys, lanes, scores);
  }
  if (spec.alibi.given()) {
    const auto by = static_cast<double>(spec.alibi.slope(tile.h));
    terms.add_alibi(times_log2e(by),
                    spec.alibi.offset(tile.b, tile.first_query, tile.first_key),
                    tile.keys, lanes, scores);
  }
}

// With the roles of keys and queries exchanged, for which distances are the
// same.
void apply_score_terms_to_row(const AttentionSpec& spec, const Tile& tile,
                              float* scores) {
  const kernels::ScoreTerms& terms = kernels::score_terms();
  const std::size_t lanes = kernels::whole_lines(tile.keys);
  if (spec.softcap) {
    terms.softcap(times_log2e(*spec.softcap), 1, lanes, scores);
  }
  if (spec.bias.given()) {
    terms.add_bias(
        {&spec.bias(tile.b, tile.h, tile.first_query, tile.first_key),
         spec.bias.key_stride(), spec.bias.query_stride(), tile.keys, 1},
        lanes, scores);
  }
  if (spec.t5_bias.given()) {
    // Of one query the last key is on diagonal 0; in its row, it is last.
    float diagonals[kernels::kMostDiagonals] = {};
    fill_diagonals(spec.t5_bias, tile, {diagonals, tile.keys});
    std::reverse(diagonals, diagonals + tile.keys);
    terms.add_diagonals(diagonals, 1, lanes, scores);
  }
  if (spec.alibi.given()) {
    const auto by = static_cast<double>(spec.alibi.slope(tile.h));
    terms.add_alibi(
        times_log2e(by),
        -spec.alibi.offset(tile.b, tile.first_query, tile.first_key), 1, lanes,
        scores);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
