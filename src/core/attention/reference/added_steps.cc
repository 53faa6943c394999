#include "attention/reference/added_steps.h"

#include <array>
#include <initializer_list>

#include "headwise/steps/heads.h"
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

// Rows (B, L, Hkv, D), and behind them the added ones (n, Hkv, D) in every
// sequence.
Result<Tensor<float, 4>> with_added(TensorView<const float, 4> rows,
                                    const Tensor<float, 3>& added) {
  const auto [B, L, Hkv, D] = rows.extents();
  HEADWISE_ASSIGN(auto all,
                  Tensor<float, 4>::create({B, L + added.extent(0), Hkv, D}));
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < all.extent(1); ++l) {
      for (std::size_t g = 0; g < Hkv; ++g) {
        for (std::size_t d = 0; d < D; ++d) {
          all(b, l, g, d) = l < L ? rows(b, l, g, d) : added(l - L, g, d);
        }
      }
    }
  }
  return all;
}

}  // namespace

std::string_view AddedColumns::axis() const {
  constexpr std::array<std::string_view, BoundAddedKeys::kMost + 1> kAxes = {
      "Lkv", "Lkv+1", "Lkv+2"};
  return kAxes[spec_.added_keys.count()];
}

Status tell_added(TraceSink* trace, const AttentionSpec& spec,
                  TensorView<const float, 4> key,
                  TensorView<const float, 4> value) {
  const BoundAddedKeys& added = spec.added_keys;
  if (trace == nullptr || added.count() == 0) {
    return ok();
  }
  const std::string_view heads = spec.shape.Hkv == spec.shape.Hq ? "H" : "Hkv";
  const auto tell = [&](std::string_view name,
                        std::initializer_list<std::string_view> axes,
                        const AnyView& tensor) {
    trace->on_step(name, {axes.begin(), axes.size()}, tensor);
  };
  HEADWISE_ASSIGN(const auto added_key, added.keys(spec.shape));
  HEADWISE_ASSIGN(const auto added_value, added.values(spec.shape));
  HEADWISE_ASSIGN(const auto keys, with_added(key, added_key));
  HEADWISE_ASSIGN(const auto values, with_added(value, added_value));
  if (added.learned()) {
    tell("bias_k", {heads, "D"}, added.bias_k());
    tell("bias_v", {heads, "Dv"}, added.bias_v());
  }
  const std::string_view rows = AddedColumns(spec).axis();
  tell("k_added", {"B", heads, rows, "D"}, as_bhld(keys.view()));
  tell("v_added", {"B", heads, rows, "Dv"}, as_bhld(values.view()));
  return ok();
}

Status score_all(const AttentionSpec& spec, TensorView<const float, 4> query,
                 TensorView<const float, 4> key, TensorView<float, 4> to) {
  const AddedColumns columns(spec);
  HEADWISE_TRY(score_keys(spec, query, key, columns.keys(to)));
  if (spec.added_keys.count() == 0) {
    return ok();
  }
  HEADWISE_ASSIGN(const auto added, spec.added_keys.keys(spec.shape));
  return score_keys(spec, query, in_every_sequence(added, spec.shape.B),
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
