#include "headwise/attention/stepwise.h"

#include <array>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/steps/scores.h"
#include "headwise/steps/weigh.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::string_view, 4> kScoreAxes = {"B", "H", "Lq", "Lkv"};

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
    const auto allowed = spec.mask.materialize(part);
    if (!allowed) {
      return allowed.error();
    }
    std::array<std::string_view, 4> axes = kScoreAxes;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (!parts[part].varies[axis]) {
        axes[axis] = "1";
      }
    }
    trace->on_step(parts[part].name, axes, allowed->view());
  }
  return ok();
}

Status allocate(const AttentionSpec& spec, AttentionSteps& steps) {
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv, offsets, kv_groups] = spec.shape;
  const Extents<4> like_scores{B, Hq, Lq, Lkv};
  const auto make = [&]<std::size_t Rank>(Tensor<float, Rank>& tensor,
                                          const Extents<Rank>& extents) {
    auto made = Tensor<float, Rank>::create(extents);
    if (!made) {
      return Status(made.error());
    }
    tensor = *std::move(made);
    return ok();
  };
  Status s = ok();
  for (const auto& [wanted, tensor] :
       {std::pair(true, &steps.scores),
        {spec.softcap.has_value(), &steps.capped_scores},
        {spec.bias.given(), &steps.biased_scores},
        {spec.alibi.given(), &steps.alibi_scores},
        {!spec.mask.parts().empty(), &steps.masked_scores},
        {true, &steps.attn_weights},
        {spec.dropout.active(), &steps.dropped_weights}}) {
    if (s && wanted) {
      s = make(*tensor, like_scores);
    }
  }
  if (s) {
    s = make(steps.context, Extents<4>{B, Lq, Hq, Dv});
  }
  if (s) {
    s = make(steps.lse, Extents<3>{B, Hq, Lq});
  }
  return s;
}

// Scores -> scores with softcap, bias and ALiBi, as far as they are asked for.
Result<TensorView<const float, 4>> add_terms(const AttentionSpec& spec,
                                             AttentionSteps& steps,
                                             TraceSink* trace) {
  TensorView<const float, 4> last = std::as_const(steps.scores).view();
  if (spec.softcap) {
    if (Status s = apply_softcap(last, *spec.softcap,
                                 steps.capped_scores.view(), *spec.executor);
        !s) {
      return s.error();
    }
    last = std::as_const(steps.capped_scores).view();
    tell(trace, "capped_scores", kScoreAxes, last);
  }
  if (spec.bias.given()) {
    if (Status s = add_bias(last, spec.bias, steps.biased_scores.view(),
                            *spec.executor);
        !s) {
      return s.error();
    }
    last = std::as_const(steps.biased_scores).view();
    tell(trace, "biased_scores", kScoreAxes, last);
  }
  if (spec.alibi.given()) {
    if (Status s = add_alibi(last, spec.alibi, steps.alibi_scores.view(),
                             *spec.executor);
        !s) {
      return s.error();
    }
    last = std::as_const(steps.alibi_scores).view();
    tell(trace, "alibi_scores", kScoreAxes, last);
  }
  return last;
}

}  // namespace

Result<AttentionSteps> stepwise_attention(TensorView<const float, 4> query,
                                          TensorView<const float, 4> key,
                                          TensorView<const float, 4> value,
                                          const AttentionOptions& options,
                                          TraceSink* trace) try {
  const auto shape =
      attention_shape(query.extents(), key.extents(), value.extents());
  if (!shape) {
    return shape.error();
  }
  const auto spec = AttentionSpec::create(*shape, options);
  if (!spec) {
    return spec.error();
  }
  if (options.offsets.ragged()) {
    return Error{ErrorCode::unsupported,
                 "attention: offsets are given, expected a padded batch where "
                 "each step is kept"};
  }
  AttentionSteps steps;
  if (Status s = allocate(*spec, steps); !s) {
    return s.error();
  }

  const GroupedHeads keys(key, spec->shape.kv_groups);
  if (Status s = spec->additive()
                     ? additive_scores(query, keys, spec->score_weight,
                                       steps.scores.view(), *spec->executor)
                     : scores(query, keys, spec->scale, steps.scores.view(),
                              *spec->executor);
      !s) {
    return s.error();
  }
  tell(trace, "scores", kScoreAxes, std::as_const(steps.scores).view());

  const auto with_terms = add_terms(*spec, steps, trace);
  if (!with_terms) {
    return with_terms.error();
  }
  TensorView<const float, 4> masked = *with_terms;
  if (!spec->mask.parts().empty()) {
    if (Status s = tell_masks(trace, *spec); !s) {
      return s.error();
    }
    if (Status s = apply_mask(masked, spec->mask, steps.masked_scores.view());
        !s) {
      return s.error();
    }
    masked = std::as_const(steps.masked_scores).view();
    tell(trace, "masked_scores", kScoreAxes, masked);
  }

  if (Status s = softmax(masked, spec->empty_rows, steps.attn_weights.view(),
                         steps.lse.view(), *spec->executor);
      !s) {
    return s.error();
  }
  TensorView<const float, 4> weights = std::as_const(steps.attn_weights).view();
  tell(trace, "attn_weights", kScoreAxes, weights);

  if (spec->dropout.active()) {
    if (Status s =
            apply_dropout(weights, spec->dropout, steps.dropped_weights.view());
        !s) {
      return s.error();
    }
    weights = std::as_const(steps.dropped_weights).view();
    tell(trace, "dropped_weights", kScoreAxes, weights);
  }

  if (Status s = weigh(weights, {value, spec->shape.kv_groups}, spec->mask,
                       std::as_const(steps.lse).view(), spec->empty_rows,
                       steps.context.view(), *spec->executor);
      !s) {
    return s.error();
  }
  tell(trace, "context", {"B", "H", "Lq", "Dv"},
       as_bhld(std::as_const(steps.context).view()));
  return steps;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
