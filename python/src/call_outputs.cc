#include "call_outputs.h"

#include <span>

#include "error.h"
#include "headwise/attention/device_attention.h"
#include "one_at_a_time.h"

namespace headwise::python {

CallOutputs::CallOutputs(const AttentionSpec& spec, const ArrayArgument& like,
                         BatchAxes axes, const CallOptions& options)
    : spec_(spec), like_(like), axes_(axes) {
  // Nothing where the options do not ask for it; the first axis only if
  // `with_first`.
  const auto make = [&](CallTensor tensor, bool with_first,
                        AxisOrder order = AxisOrder::rows_first) {
    const TensorArg expected = expected_tensor(spec, tensor, like.dtype());
    return expected.rank() == 0
               ? NewArray()
               : NewArray(like, expected.dtype(),
                          expected.extents().subspan(with_first ? 0 : 1),
                          order);
  };
  if (options.out.is_valid()) {
    given_output_.emplace(options.out, options.named("out"), options.graph());
    given_output_->expect_on(like.gpu());
  } else {
    output_ = make(CallTensor::output, axes.tensors, like.order());
  }
  attn_weights_ = make(CallTensor::attn_weights, axes.sequences);
  scores_ = make(CallTensor::scores, axes.sequences);
  if (options.lse) {
    lse_ = make(CallTensor::lse, axes.tensors);
  }
  if (options.softmax_rows) {
    softmax_rows_ = make(CallTensor::softmax_rows, axes.tensors);
  }
  if (options.state.is_valid()) {
    take_state(options.state);
  } else if (spec.key_part == KeyPart::first) {
    state_rows_ = make(CallTensor::state_rows, axes.tensors);
    state_context_ = make(CallTensor::state_context, axes.tensors);
  }
  if (spec.statistics.any()) {
    statistics_ = value_of(AttentionStatistics::create(spec));
  }
}

void CallOutputs::take_state(const nb::object& state) {
  if (!nb::isinstance<nb::tuple>(state) || nb::len(state) != 2) {
    raise_type(
        {"attention", "state"},
        std::string("is a ") + nb::str(state.type().attr("__name__")).c_str(),
        "a tuple (softmax_rows, context) of arrays");
  }
  given_state_rows_.emplace(state[0],
                            ArgumentName{"attention", "state.softmax_rows"});
  given_state_context_.emplace(state[1],
                               ArgumentName{"attention", "state.context"});
}

template <class T>
AttentionOutputsOf<T> CallOutputs::views() {
  const bool batched = axes_.tensors;
  AttentionOutputsOf<T> outputs;
  outputs.output =
      given_output_
          ? writable_call_view<T>(*given_output_, batched,
                                  batched ? "(B, Lq, Hq, Dv)" : "(Lq, Hq, Dv)")
          : output_.view<T, 4>();
  outputs.attn_weights = attn_weights_.view<float, 4>();
  outputs.lse = lse_.view<float, 3>();
  outputs.softmax_rows = softmax_rows_.view<float, 4>();
  outputs.scores = scores_.view<float, 4>();
  if (given_state_rows_) {
    outputs.state = {
        writable_call_view<float>(*given_state_rows_, batched,
                                  batched ? "(B, Hq, Lq, 2)" : "(Hq, Lq, 2)"),
        writable_call_view<float>(
            *given_state_context_, batched,
            batched ? "(B, Lq, Hq, Dv)" : "(Lq, Hq, Dv)")};
  } else {
    outputs.state = {state_rows_.view<float, 4>(),
                     state_context_.view<float, 4>()};
  }
  if (statistics_) {
    outputs.statistics = statistics_->views();
  }
  return outputs;
}
template AttentionOutputsOf<float> CallOutputs::views<float>();
template AttentionOutputsOf<BFloat16> CallOutputs::views<BFloat16>();
template AttentionOutputsOf<Float16> CallOutputs::views<Float16>();

Status CallOutputs::pool() {
  if (statistics_ && spec_.statistics.wanted().rows) {
    auto pooled = pool_statistics(statistics_->rows, spec_);
    HEADWISE_TRY(pooled);
    statistics_->pooled = *std::move(pooled);
  }
  return ok();
}

nb::object CallOutputs::object() && {
  nb::object output = given_output_ ? nb::borrow(given_output_->object())
                                    : std::move(output_).object();
  const bool part = given_state_rows_ || state_rows_;
  if (!attn_weights_ && !lse_ && !softmax_rows_ && !scores_ && !statistics_ &&
      !part) {
    return output;
  }
  AttentionResult result;
  result.output = std::move(output);
  result.attn_weights = std::move(attn_weights_).object();
  result.lse = std::move(lse_).object();
  result.softmax_rows = std::move(softmax_rows_).object();
  result.scores = std::move(scores_).object();
  result.state = nb::none();
  if (given_state_rows_) {
    result.state = nb::make_tuple(given_state_rows_->object(),
                                  given_state_context_->object());
  } else if (state_rows_) {
    result.state = nb::make_tuple(std::move(state_rows_).object(),
                                  std::move(state_context_).object());
  }
  result.statistics =
      statistics_ ? statistics_object(*std::move(statistics_), like_, axes_)
                  : nb::none();
  return nb::cast(std::move(result));
}

nb::object run_on_gpu(const CallTensors& tensors, const CallOptions& options) {
  if (options.operation.statistics.any()) {
    raise(Error(ErrorCode::unsupported,
                {.operation = std::string(options.operation_name()),
                 .argument = "statistics",
                 .given = "asked for",
                 .expected = "none of tensors on a GPU"}));
  }
  return with_element_type(tensors.query(), [&]<class T>(T) -> nb::object {
    if constexpr (!DeviceElement<T>) {
      tensors.query().raise_dtype("bfloat16 or float16 on a GPU");
    } else {
      const AttentionInputsOf<T> inputs = tensors.views<T>();
      const auto plan = value_of(DeviceAttentionPlan<T>::create(
          tensors.shape(), options.attention, options.operation));
      CallOutputs outputs(plan.spec(), tensors.query(),
                          tensors.batch_axes(plan.spec()), options);
      const AttentionOutputsOf<T> views = outputs.views<T>();
      check(unlocked([&] { return plan.run(inputs, views); }));
      return std::move(outputs).object();
    }
  });
}

nb::object run_call(const AttentionPlan& plan, const CallTensors& tensors,
                    const CallOptions& options, const Offsets& offsets) {
  AttentionSpec spec = plan.spec();
  if (offsets.ragged()) {
    check(spec.set_offsets(offsets));
  }
  return with_element_type(tensors.query(), [&]<class T>(T) {
    const AttentionInputsOf<T> inputs = tensors.views<T>();
    CallOutputs outputs(spec, tensors.query(), tensors.batch_axes(spec),
                        options);
    const AttentionOutputsOf<T> views = outputs.views<T>();
    check(unlocked([&]() -> Status {
      HEADWISE_TRY(
          plan.run(inputs.query, inputs.key, inputs.value, views, offsets));
      return outputs.pool();
    }));
    return std::move(outputs).object();
  });
}

}  // namespace headwise::python
