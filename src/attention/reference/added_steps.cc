#include "attention/reference/added_steps.h"

#include "headwise/steps/scores.h"
#include "headwise/steps/weigh.h"
#include "steps/one_nan.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// One row of added keys or values, the same in every sequence: (B, n, Hkv, D).
TensorView<const float, 4> in_every_sequence(const Tensor<float, 3>& rows,
                                             std::size_t B) {
  const TensorView<const float, 3> of = rows;
  return {of.data(),
          {B, of.extent(0), of.extent(1), of.extent(2)},
          {0, of.stride(0), of.stride(1), of.stride(2)}};
}

Status score_keys(const AttentionSpec& spec, TensorView<const float, 4> query,
                  TensorView<const float, 4> key, TensorView<float, 4> to) {
  const GroupedHeads keys(key, spec.shape.kv_groups);
  return spec.additive() ? additive_scores(query, keys, spec.score_weight, to,
                                           *spec.executor)
                         : scores(query, keys, spec.scale, to, *spec.executor);
}

}  // namespace

Status score_all(const AttentionSpec& spec, TensorView<const float, 4> query,
                 TensorView<const float, 4> key, TensorView<float, 4> to) {
  const AddedColumns columns(spec);
  HEADWISE_TRY(score_keys(spec, query, key, columns.keys(to)));
  if (spec.added_keys.count() == 0) {
    return ok();
  }
  const auto added = spec.added_keys.keys(spec.shape);
  HEADWISE_TRY(added);
  return score_keys(spec, query, in_every_sequence(*added, spec.shape.B),
                    columns.added(to));
}

void finish_empty_rows(const AttentionSpec& spec, AttentionSteps& steps) {
  if (spec.added_keys.count() == 0 || spec.empty_rows != EmptyRow::uniform) {
    return;
  }
  const auto [B, H, Lq, columns] = steps.attn_weights.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; steps.lse(b, h, i) == kMinusInf && j < columns;
             ++j) {
          steps.attn_weights(b, h, i, j) =
              j < spec.shape.Lkv ? 1 / static_cast<float>(spec.shape.Lkv) : 0;
        }
      }
    }
  }
}

Status drop_all(const AttentionSpec& spec, TensorView<const float, 4> weights,
                TensorView<float, 4> to) {
  const AddedColumns columns(spec);
  HEADWISE_TRY(
      apply_dropout(columns.keys(weights), spec.dropout, columns.keys(to)));
  const auto factor = static_cast<float>(spec.dropout.factor());
  columns.set(
      weights, to,
      [&](std::size_t b, std::size_t h, std::size_t i, std::size_t n, float x) {
        return spec.dropout.keeps(b, h, i, spec.added_keys.number(n))
                   ? one_nan(x * factor)
                   : 0;
      });
  return ok();
}

Status weigh_all(const AttentionSpec& spec, TensorView<const float, 4> weights,
                 TensorView<const float, 4> value, AttentionSteps& steps) {
  const AddedColumns columns(spec);
  HEADWISE_TRY(weigh(columns.keys(weights), {value, spec.shape.kv_groups},
                     spec.mask, steps.lse, spec.empty_rows, steps.context,
                     *spec.executor));
  const auto [B, Lq, H, Dv] = steps.context.extents();
  const TensorView<const float, 4> of_added = columns.added(weights);
  for (std::size_t b = 0; of_added.size() != 0 && b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t c = 0; steps.lse(b, h, i) != kMinusInf && c < Dv;
             ++c) {
          float& sum = steps.context(b, i, h, c);
          for (std::size_t n = 0; n < of_added.extent(3); ++n) {
            sum += of_added(b, h, i, n) *
                   spec.added_keys.value(n, spec.shape.kv_head(h), c);
          }
          sum = one_nan(sum);
        }
      }
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
