#include "attention/few_rows/head_rows.h"

#include <algorithm>
#include <type_traits>

#include "attention/empty_row.h"
#include "attention/few_rows/key_words.h"
#include "attention/few_rows/packed_rows.h"
#include "attention/log2_domain.h"
#include "attention/log2_sum.h"
#include "attention/number_rows.h"
#include "attention/schedule.h"
#include "attention/score_terms.h"
#include "attention/softmax_row.h"
#include "kernels/tile_layout.h"
#include "steps/mask_tile.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kRowsAtOnce;
using kernels::whole_lines;

std::size_t most_rows(const AttentionShape& shape) {
  return shape.largest_group() * std::min(shape.Lq, kFewQueries);
}

RowResults::RowResults(const AttentionSpec& spec, Arena& arena)
    : max(arena.take<float>(whole_lines(most_rows(spec.shape)))),
      sum(arena.take<float>(whole_lines(most_rows(spec.shape)))),
      context(arena.take<float>(most_rows(spec.shape),
                                whole_lines(spec.shape.Dv))) {}

RowScratch::RowScratch(const AttentionSpec& spec, Arena& arena)
    : scores(arena.take<float>(kRowsAtOnce, kKeyBlock)),
      words(arena.take<kernels::MaskWord>(kKeyBlock)),
      key_words(arena.take<kernels::KeyWords>(most_rows(spec.shape))) {}

HeadRows::HeadRows(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      loops_(kernels::row_tile()),
      heads_see_the_same_(same_for_all_heads(spec.mask)),
      has_terms_(has_score_terms(spec)),
      q_(arena.take<float>(most_rows(spec.shape), packed_row_size(spec))),
      state_(spec, arena),
      sinks_(make_array<RowResults>(arena, spec.sinks.given() ? 1 : 0, spec)) {}

template <class Void, class Body>
void HeadRows::for_rows(const TensorArg& tensor, const Body& body) const {
  if (place_.Lq == 1) {
    body(number_rows_of_heads<Void>(tensor, place_.batch, place_.first_query,
                                    first_head_, rows_),
         0);
    return;
  }
  for (std::size_t row = 0; row < rows_; row += place_.Lq) {
    body(number_rows<Void>(tensor, place_.batch, place_.first_query,
                           first_head_ + row / place_.Lq, place_.Lq),
         row);
  }
}

void HeadRows::begin(std::size_t b, std::size_t g, const CallTensors& tensors) {
  b_ = b;
  place_ = spec_.shape.sequence(b);
  first_head_ = spec_.shape.first_query_head(g);
  rows_ = spec_.shape.group_size(g) * place_.Lq;
  keys_ = seen_keys(spec_, b);
  for_rows<const void>(
      tensors[CallTensor::query], [&](const auto& rows, std::size_t first) {
        pack_query_rows(spec_, rows, q_ + first * packed_row_size(spec_));
      });
  std::fill_n(state_.max, whole_lines(rows_), kMinusInf);
  std::fill_n(state_.sum, whole_lines(rows_), 0.0f);
}

void HeadRows::resume(const CallTensors& tensors) {
  const std::size_t Dv = spec_.shape.Dv;
  const auto rows = tensors.floats<4>(CallTensor::state_rows);
  for (std::size_t row = 0; row < rows_; row += place_.Lq) {
    const std::size_t h = first_head_ + row / place_.Lq;
    for (std::size_t i = 0; i < place_.Lq; ++i) {
      const SoftmaxRow from =
          load_softmax_row(rows, place_.batch, h, place_.first_query + i);
      state_.max[row + i] = from.max;
      state_.sum[row + i] = from.sum;
    }
    loops_.pack_rows(
        number_rows<const void>(tensors[CallTensor::state_context],
                                place_.batch, place_.first_query, h, place_.Lq),
        Dv, 1, state_.context + row * whole_lines(Dv));
  }
}

void HeadRows::save(const CallTensors& tensors) {
  const std::size_t Dv = spec_.shape.Dv;
  const auto rows = tensors.floats<4>(CallTensor::state_rows);
  for (std::size_t row = 0; row < rows_; row += place_.Lq) {
    const std::size_t h = first_head_ + row / place_.Lq;
    float* const own = state_.context + row * whole_lines(Dv);
    for (std::size_t i = 0; i < place_.Lq; ++i) {
      const SoftmaxRow to = {state_.max[row + i], state_.sum[row + i]};
      store_softmax_row(to, rows, place_.batch, h, place_.first_query + i);
      if (to.sum == 0) {  // the context is uninitialised
        std::fill_n(own + i * whole_lines(Dv), Dv, 0.0f);
      }
    }
    kernels::tile_layout().store_rows(
        own, 1, Dv, whole_lines(Dv),
        number_rows<void>(tensors[CallTensor::state_context], place_.batch,
                          place_.first_query, h, place_.Lq));
  }
}

void HeadRows::score(const RowBlock& keys, const kernels::StoredTile& loops,
                     const Tile& tile, std::size_t first, std::size_t count,
                     const kernels::KeyWords* allowed,
                     const RowScratch& scratch, float* max) const {
  float* scores = scratch.scores;
  for (const kernels::KeyPanel& panel : keys.panels) {
    loops.score(q_ + first * packed_row_size(spec_), count, panel,
                spec_.shape.D, score_factor(spec_), scores);
    scores += panel.width;
  }
  for (std::size_t r = 0; has_terms_ && r < count; ++r) {
    Tile row = tile;
    row.h = first_head_ + (first + r) / place_.Lq;
    row.first_query = (first + r) % place_.Lq;
    row.queries = 1;
    apply_score_terms_to_row(spec_, row, scratch.scores + r * kKeyBlock);
  }
  loops_.softmax(count, tile.keys, allowed, scratch.scores, max);
}

void HeadRows::attend(std::size_t block, RowBlocks& blocks,
                      const RowScratch& scratch,
                      const RowResults& result) const {
  const std::size_t first_key = keys_.first_key(block);
  const std::size_t keys = keys_.count(block);
  const Tile tile = {b_, first_head_, 0, place_.Lq, first_key, keys};
  const SeenByRows seen =
      mask_rows(spec_.mask, tile, {rows_ / place_.Lq, heads_see_the_same_},
                scratch.words, scratch.key_words);
  if (seen.nothing) {
    std::fill_n(result.sum, whole_lines(rows_), 0.0f);
    return;
  }
  const kernels::StoredTile& loops = blocks.value_loops();
  const RowBlock read = blocks.block(first_key, keys);
  const bool select = !seen.everything && !blocks.all_finite(read);
  const std::size_t Dv = spec_.shape.Dv;
  // As even as possible: a pass for one row costs nearly that for four.
  const std::size_t passes = (rows_ + kRowsAtOnce - 1) / kRowsAtOnce;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::size_t first = rows_ * pass / passes;
    const std::size_t count = rows_ * (pass + 1) / passes - first;
    const kernels::KeyWords* allowed =
        seen.everything ? nullptr : scratch.key_words + first;
    score(read, blocks.key_loops(), tile, first, count, allowed, scratch,
          result.max + first);
    float* const context = result.context + first * whole_lines(Dv);
    if (!select) {
      loops.weigh(scratch.scores, count, read.values.data(), read.values.size(),
                  Dv, pass != 0, result.sum + first, context);
      continue;
    }
    for (std::size_t r = 0; r < count; ++r) {
      loops.weigh_allowed(scratch.scores + r * kKeyBlock, allowed[r],
                          read.values.data(), read.values.size(), Dv,
                          result.sum + first + r,
                          context + r * whole_lines(Dv));
    }
  }
}

void HeadRows::fold(const RowResults& result) {
  loops_.fold(rows_, spec_.shape.Dv,
              {result.max, result.sum, {state_.max, state_.sum}, false},
              result.context, state_.context);
}

void HeadRows::fold_sinks() {
  for (const RowResults& sinks : sinks_) {
    std::fill_n(sinks.max, whole_lines(rows_), kMinusInf);
    std::fill_n(sinks.sum, whole_lines(rows_), 0.0f);
    std::fill_n(sinks.context, rows_ * whole_lines(spec_.shape.Dv), 0.0f);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t h = first_head_ + row / place_.Lq;
      if (spec_.sinks.has(h)) {
        sinks.max[row] = times_log2e(static_cast<double>(spec_.sinks.of(h)));
        sinks.sum[row] = 1;
      }
    }
    fold(sinks);
  }
}

void HeadRows::finish(const CallTensors& tensors) {
  fold_sinks();
  const std::size_t Dv = spec_.shape.Dv;
  for_rows<void>(tensors[CallTensor::output],
                 [&](const auto& rows, std::size_t first) {
                   loops_.store(state_.context + first * whole_lines(Dv),
                                state_.sum + first, Dv, rows);
                 });
  for (std::size_t row = 0; row < rows_; row += place_.Lq) {
    finish_head(row / place_.Lq, tensors);
  }
}

void HeadRows::finish_head(std::size_t head, const CallTensors& tensors) const {
  const std::size_t first = head * place_.Lq;
  const std::size_t h = first_head_ + head;
  const std::size_t Dv = spec_.shape.Dv;
  for (std::size_t i = 0; i < place_.Lq; ++i) {
    const float max = state_.max[first + i];
    const float sum = state_.sum[first + i];
    const std::size_t row = place_.first_query + i;
    if (sum == 0) {
      visit_numbers<void>(tensors[CallTensor::output], [&](const auto& output) {
        using T = typename std::decay_t<decltype(output)>::value_type;
        for (std::size_t c = 0; c < Dv; ++c) {
          output(place_.batch, row, h, c) = narrowed<T>(
              empty_output(spec_, {b_, h, i}, tensors[CallTensor::value], c));
        }
      });
    }
    if (tensors.has(CallTensor::lse)) {
      tensors.floats<3>(CallTensor::lse)(place_.batch, h, row) =
          lse_of(max, sum);
    }
    if (tensors.has(CallTensor::softmax_rows)) {
      store_softmax_row({max, sum}, tensors.floats<4>(CallTensor::softmax_rows),
                        place_.batch, h, row);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
