#include "headwise/attention/stepwise.h"

#include <array>
#include <utility>

#include "attention/check_parts.h"
#include "attention/reference/added_steps.h"
#include "base/check.h"
#include "base/check_exact.h"
#include "base/out_of_memory.h"
#include "headwise/steps/scores.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Of a tensor over all pairs, with a column for each added key.
std::array<std::string_view, 4> score_axes(const AttentionSpec& spec) {
  return {"B", "H", "Lq", AddedColumns(spec).axis()};
}
constexpr std::array<std::string_view, 4> kMaskAxes = {"B", "H", "Lq", "Lkv"};

void tell(TraceSink* trace, std::string_view name,
          const std::array<std::string_view, 4>& axes, const AnyView& tensor) {
  if (trace != nullptr) {
    trace->on_step(name, axes, tensor);
  }
}

Status tell_masks(TraceSink* trace, const AttentionSpec& spec) {
  if (trace == nullptr) {
    return ok();
  }
  const std::vector<BoundMask::Part> parts = spec.mask.parts();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    HEADWISE_ASSIGN(const auto allowed, spec.mask.materialize(part));
    std::array<std::string_view, 4> axes = kMaskAxes;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (!parts[part].varies[axis]) {
        axes[axis] = "1";
      }
    }
    trace->on_step(parts[part].name, axes, allowed);
  }
  return ok();
}

Status allocate(const AttentionSpec& spec, AttentionSteps& steps) {
  const AttentionShape& shape = spec.shape;
  const Extents<4> like_scores{shape.B, shape.Hq, shape.Lq,
                               spec.pair_columns()};
  const auto make = [&]<std::size_t Rank>(Tensor<float, Rank>& tensor,
                                          const Extents<Rank>& extents) {
    auto made = Tensor<float, Rank>::create_unset(extents);
    if (made) {
      tensor = *std::move(made);
    }
    return made ? ok() : Status(made.error());
  };
  for (const auto& [wanted, tensor] :
       {std::pair(true, &steps.scores),
        {spec.softcap.has_value(), &steps.capped_scores},
        {spec.bias.given(), &steps.biased_scores},
        {spec.t5_bias.given(), &steps.t5_scores},
        {spec.alibi.given(), &steps.alibi_scores},
        {!spec.mask.parts().empty(), &steps.masked_scores},
        {true, &steps.attn_weights},
        {spec.dropout.active(), &steps.dropped_weights}}) {
    if (wanted) {
      HEADWISE_TRY(make(*tensor, like_scores));
    }
  }
  HEADWISE_TRY(
      make(steps.context, Extents<4>{shape.B, shape.Lq, shape.Hq, shape.Dv}));
  return make(steps.lse, Extents<3>{shape.B, shape.Hq, shape.Lq});
}

// Scores -> scores with softcap, biases and ALiBi, as far as they are asked
// for.
Result<TensorView<const float, 4>> add_terms(const AttentionSpec& spec,
                                             AttentionSteps& steps,
                                             TraceSink* trace) {
  const auto axes = score_axes(spec);
  const AddedColumns added(spec);
  TensorView<const float, 4> last = steps.scores;
  if (spec.softcap) {
    HEADWISE_TRY(apply_softcap(last, *spec.softcap, steps.capped_scores,
                               *spec.executor));
    last = steps.capped_scores;
    tell(trace, "capped_scores", axes, last);
  }
  const auto add = [&](const auto& bias, const auto& add_to,
                       Tensor<float, 4>& sums,
                       std::string_view name) -> Status {
    if (bias.given()) {
      HEADWISE_TRY(
          add_to(added.keys(last), bias, added.keys(sums), *spec.executor));
      added.copy(last, sums);
      last = sums;
      tell(trace, name, axes, last);
    }
    return ok();
  };
  HEADWISE_TRY(add(spec.bias, add_bias, steps.biased_scores, "biased_scores"));
  HEADWISE_TRY(add(spec.t5_bias, add_t5_bias, steps.t5_scores, "t5_scores"));
  HEADWISE_TRY(add(spec.alibi, add_alibi, steps.alibi_scores, "alibi_scores"));
  return last;
}

}  // namespace

Result<AttentionSteps> stepwise_attention(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    TensorView<const float, 4> value, const AttentionOptions& options,
    const OperationOptions& operation_options, TraceSink* trace) try {
  HEADWISE_ASSIGN(
      const auto shape,
      attention_shape(query.extents(), key.extents(), value.extents()));
  HEADWISE_TRY(check_no_part("attention", operation_options));
  HEADWISE_TRY(check_exact("attention", options.arithmetic));
  HEADWISE_ASSIGN(const auto spec,
                  AttentionSpec::create(shape, options, operation_options));
  if (options.offsets.ragged()) {
    return value_error("attention", "offsets", "given",
                       "none: each step is kept of a padded batch only",
                       ErrorCode::unsupported);
  }
  AttentionSteps steps;
  HEADWISE_TRY(allocate(spec, steps));

  HEADWISE_TRY(tell_added(trace, spec, key, value));
  const auto axes = score_axes(spec);
  HEADWISE_TRY(score_all(spec, query, key, steps.scores));
  tell(trace, "scores", axes, steps.scores);

  HEADWISE_ASSIGN(const auto with_terms, add_terms(spec, steps, trace));
  TensorView<const float, 4> masked = with_terms;
  if (!spec.mask.parts().empty()) {
    HEADWISE_TRY(tell_masks(trace, spec));
    const AddedColumns columns(spec);
    HEADWISE_TRY(apply_mask(columns.keys(masked), spec.mask,
                            columns.keys(steps.masked_scores)));
    columns.copy(masked, steps.masked_scores);
    masked = steps.masked_scores;
    tell(trace, "masked_scores", axes, masked);
  }

  if (spec.sinks.given() && trace != nullptr) {
    constexpr std::array<std::string_view, 1> kAxes = {"H"};
    trace->on_step("sinks", kAxes, spec.sinks.view());
  }
  HEADWISE_TRY(softmax(masked, spec.sinks, spec.empty_rows, steps.attn_weights,
                       steps.lse, *spec.executor));
  finish_empty_rows(spec, steps);
  TensorView<const float, 4> weights = steps.attn_weights;
  tell(trace, "attn_weights", axes, weights);

  if (spec.dropout.active()) {
    HEADWISE_TRY(drop_all(spec, weights, steps.dropped_weights));
    weights = steps.dropped_weights;
    tell(trace, "dropped_weights", axes, weights);
  }

  HEADWISE_TRY(weigh_all(spec, weights, value, steps));
  tell(trace, "context", {"B", "H", "Lq", "Dv"}, as_bhld(steps.context));
  return steps;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
