// The steps of a call, of which headwise/_explain.py makes a Trace.
#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "bindings.h"
#include "call_options.h"
#include "call_tensors.h"
#include "error.h"
#include "float_tensor.h"
#include "headwise/attention/stepwise.h"
#include "headwise/inspect/trace.h"
#include "layer_call.h"
#include "layer_object.h"
#include "new_array.h"
#include "object_state.h"
#include "object_text.h"
#include "one_at_a_time.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "explain";

nb::str text(std::string_view utf8) {
  return nb::str(utf8.data(), utf8.size());
}

// headwise.TracedStep
struct StepObject {
  nb::object name, axes, array, operation, formula;
  StepSummary summary;
};

// The array looks at the step's memory; `trace` keeps it.
nb::object array_of(const std::shared_ptr<Trace>& trace, const TracedStep& step,
                    const ArrayArgument& like) {
  using Owner = std::shared_ptr<Trace>;
  nb::capsule owner(new Owner(trace), [](void* owned) noexcept {
    delete static_cast<Owner*>(owned);
  });
  // The trace itself is not const, and nobody else reads it any more.
  void* data = const_cast<std::byte*>(step.data.data());
  return NewArray(like.object(), step.dtype, step.extents,
                  data != nullptr ? data : no_elements(), std::move(owner))
      .object();
}

nb::object object_of(const std::shared_ptr<Trace>& trace,
                     const TracedStep& step, const StepContext& pass,
                     const ArrayArgument& like) {
  nb::list axes;
  for (const std::string& axis : step.axes) {
    axes.append(text(axis));
  }
  return nb::cast(
      StepObject{text(step.name), nb::tuple(axes), array_of(trace, step, like),
                 text(step_operation(step.name, pass)),
                 text(step_formula(step.name, pass)), summarize(step)});
}

nb::list objects_of(const std::shared_ptr<Trace>& trace,
                    const StepContext& pass, const ArrayArgument& like) {
  nb::list objects;
  for (const TracedStep& step : trace->steps()) {
    objects.append(object_of(trace, step, pass, like));
  }
  return objects;
}

// What the formulas say of the call.
StepContext context_of(const CallTensors& tensors, const CallOptions& options,
                       const Trace& trace) {
  const AttentionShape shape = tensors.shape();
  const bool even = options.operation.kv_groups.even();
  return {.steps = trace.steps(),
          .batched = tensors.batched(),
          .additive = options.operation.score_weight.data() != nullptr,
          .group = even && shape.Hkv != 0 ? shape.Hq / shape.Hkv : 1};
}

nb::list explain_steps(nb::handle query, nb::handle key, nb::handle value,
                       const nb::kwargs& keywords) {
  CallOptions options(kOperation);
  options.read(keywords, {kAttentionOptions, kOperationOptions});
  const CallTensors tensors(query, key, value, kOperation, Graph::refused);
  tensors.shape();  // checks the ranks
  const FloatTensor q(query, {kOperation, "query"}, "(B, Lq, Hq, D)");
  const FloatTensor k(key, {kOperation, "key"}, "(B, Lkv, Hkv, D)");
  const FloatTensor v(value, {kOperation, "value"}, "(B, Lkv, Hkv, Dv)");
  const auto trace = std::make_shared<Trace>();
  if (!tensors.batched()) {
    trace->leave_out_batch();
  }
  check(unlocked([&]() -> Status {
    const auto steps =
        stepwise_attention(q.view(), k.view(), v.view(), options.attention,
                           options.operation, trace.get());
    return steps ? ok() : Status(steps.error());
  }));
  return objects_of(trace, context_of(tensors, options, *trace),
                    tensors.query());
}

// The same of a layer.
StepContext context_of(const LayerObject& layer, const Trace& trace,
                       bool batched) {
  const MultiHeadAttentionConfig& config = layer.config();
  const MultiHeadAttentionParams& params = layer.params();
  const std::size_t kv_heads = config.num_kv_heads.value_or(config.num_heads);
  const bool even = config.kv_group_sizes.empty() && kv_heads != 0;
  return {.steps = trace.steps(),
          .batched = batched,
          .additive = config.scoring == Scoring::additive,
          .group = even ? config.num_heads / kv_heads : 1,
          .q_bias = params.w_q.has_bias(),
          .k_bias = params.w_k.has_bias(),
          .v_bias = params.w_v && params.w_v->has_bias(),
          .output_bias = params.w_o && params.w_o->has_bias(),
          .value_proj = config.value_proj,
          .out_proj = config.out_proj,
          .qk_norm = config.qk_norm.value_or(QkNorm{})};
}

nb::list explain_layer(const LayerObject& layer, nb::handle query,
                       nb::handle key, nb::handle value,
                       const nb::kwargs& keywords) {
  const LayerCallOptions options(kOperation, keywords, Pass::explain);
  if (options.cache != nullptr) {
    raise(Error(ErrorCode::unsupported,
                {.operation = std::string(kOperation),
                 .argument = "cache",
                 .given = "is given",
                 .expected = "none: the call would append to it"}));
  }
  const LayerTensors tensors(query, key, value, kOperation);
  const auto q = tensors.query_view<float>();
  const auto k = tensors.key_view<float>();
  const auto v = tensors.value_view<float>();
  const auto trace = std::make_shared<Trace>();
  if (!tensors.batched()) {
    trace->leave_out_batch();
  }
  check(layer.use([&](const MultiHeadAttention& module) -> Status {
    using Axes = std::array<std::string_view, 3>;
    trace->on_step("query", Axes{"B", "Lq", "query_dim"}, q);
    trace->on_step("key", Axes{"B", "Lkv", "kdim"}, k);
    trace->on_step("value", Axes{"B", "Lkv", "vdim"}, v);
    const auto result =
        module.forward(q, k, v, options.attention, options.layer, trace.get());
    return result ? ok() : Status(result.error());
  }));
  return objects_of(trace, context_of(layer, *trace, tensors.batched()),
                    tensors.query());
}

template <auto kField>
nb::object number(const StepObject& step) {
  return nb::cast(step.summary.*kField);
}

}  // namespace

void bind_explain(nb::module_& module) {
  nb::class_<StepObject>(module, "TracedStep", nb::is_generic(),
                         nb::sig("class TracedStep(Generic[_A])"),
                         R"(A step of a call and its tensor.

    name       "scores"
    axes       ("B", "H", "Lq", "Lkv"); "1" where the tensor is broadcast
    array      the tensor, of the query's library; float32, int64 or bool
    operation  what the step does
    formula    the same as a formula

and numbers that describe the tensor:

    min, max   of the finite elements; 0 if there are none
    finite     number of finite elements
    masked     number of elements that are -inf, or False in a mask
    nan        number of elements that are NaN)")
      .def(State([](StepObject& s) {
        auto& n = s.summary;
        return std::tie(s.name, s.axes, s.array, s.operation, s.formula,
                        n.count, n.finite, n.min, n.max, n.masked, n.nan);
      }))
      .def("__repr__", &text_of_properties)
      .def_ro("name", &StepObject::name, nb::sig("def name(self) -> str"))
      .def_ro("axes", &StepObject::axes,
              nb::sig("def axes(self) -> tuple[str, ...]"))
      .def_ro("array", &StepObject::array, nb::sig("def array(self) -> _A"))
      .def_ro("operation", &StepObject::operation,
              nb::sig("def operation(self) -> str"))
      .def_ro("formula", &StepObject::formula,
              nb::sig("def formula(self) -> str"))
      .def_prop_ro("min", &number<&StepSummary::min>,
                   nb::sig("def min(self) -> float"))
      .def_prop_ro("max", &number<&StepSummary::max>,
                   nb::sig("def max(self) -> float"))
      .def_prop_ro("finite", &number<&StepSummary::finite>,
                   nb::sig("def finite(self) -> int"))
      .def_prop_ro("masked", &number<&StepSummary::masked>,
                   nb::sig("def masked(self) -> int"))
      .def_prop_ro("nan", &number<&StepSummary::nan>,
                   nb::sig("def nan(self) -> int"));
  module.def(
      "explain_steps", &explain_steps, nb::arg("query").none(),
      nb::arg("key").none(), nb::arg("value").none(), nb::arg("options"),
      nb::sig("def explain_steps(query: _A, key: Array | None, "
              "value: Array | None, **options: Any) -> list[TracedStep[_A]]"));
  module.def("explain_layer", &explain_layer, nb::arg("layer"),
             nb::arg("query").none(), nb::arg("key").none(),
             nb::arg("value").none(), nb::arg("options"),
             nb::sig("def explain_layer(layer: MultiHeadAttention, "
                     "query: _A, key: Array | None, value: Array | None, "
                     "**options: Any) -> list[TracedStep[_A]]"));
}

}  // namespace headwise::python
