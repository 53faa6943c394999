// headwise.attention
#include <nanobind/nanobind.h>

#include <array>
#include <string>

#include "bindings.h"
#include "call_options.h"
#include "call_outputs.h"
#include "call_tensors.h"
#include "error.h"
#include "headwise/attention/plan.h"
#include "object_state.h"
#include "object_text.h"

namespace headwise::python {
namespace {

template <Graph kGraph, AxisOrder kOrder>
nb::object call_attention(nb::handle query, nb::handle key, nb::handle value,
                          const nb::kwargs& keywords) {
  CallOptions options("attention", kGraph);
  if constexpr (kGraph == Graph::kept_by_caller) {
    options.read(keywords, {kAttentionOptions, kOperationOptions,
                            kOutputOptions, kDeviceOptions});
  } else {
    options.read(keywords,
                 {kAttentionOptions, kOperationOptions, kOutputOptions});
  }
  const CallTensors tensors(query, key, value, "attention", kGraph, kOrder);
  tensors.expect_together(options.on_gpu());
  options.expect_on(tensors.query().gpu());
  if (options.on_gpu()) {
    return run_on_gpu(tensors, options);
  }
  const AttentionPlan plan = value_of(AttentionPlan::create(
      tensors.shape(), options.attention, options.operation));
  return run_call(plan, tensors, options);
}

constexpr char kTensors[] =
    R"(Scaled dot-product attention: softmax(mask(scale * query key^T)) value.

    query   (B, Lq, Hq, D)     or (Lq, Hq, D) etc., without a batch
    key     (B, Lkv, Hkv, D)   Hq is a multiple of Hkv, unless kv_groups says more
    value   (B, Lkv, Hkv, Dv)
    output  (B, Lq, Hq, Dv)

All three are float32, bfloat16 or float16, of NumPy, torch or any library with
__dlpack__, in the CPU's memory, with any strides; nothing is copied. Results
are of the query's library. For data in the order (B, H, L, D) pass the
transposed view.

Options; None is the default of each:

)";

constexpr char kResult[] = R"(
Returns the output, or an AttentionResult if more was asked for.

    >>> query, key, value = np.ones((3, 2, 20, 8, 64), np.float32)
    >>> headwise.attention(query, key, value).shape
    (2, 20, 8, 64)
    >>> result = headwise.attention(query, key, value, mask=headwise.causal(),
    ...                             attn_weights="per_head", statistics={"rows": True})
    >>> result.attn_weights[0, 3, 1, :3]  # head 3, query 1
    array([0.5, 0.5, 0. ], dtype=float32)
    >>> result.statistics.mean("entropy").shape  # one number per head
    (8,)

Errors: ValueError for shapes and values, TypeError for element types, devices
and unknown options, NotImplementedError, MemoryError. A torch tensor that
requires a gradient is a TypeError while gradients are recorded: headwise.torch
records them.)";

void bind_result(nb::module_& module) {
  nb::class_<AttentionResult>(
      module, "AttentionResult", nb::is_generic(),
      nb::sig("class AttentionResult(Generic[_A, _W, _S])"),
      R"(What attention() returns if more than the output was asked for.

    output        (B, Lq, Hq, Dv)
    attn_weights  (B, Hq, Lq, Lkv), or (B, 1, Lq, Lkv) for "mean"
    lse           (B, Hq, Lq)
    softmax_rows  (B, Hq, Lq, 2)
    scores        (B, Hq, Lq, Lkv)
    statistics    AttentionStatistics
    state         (softmax_rows, context) of a part of the keys

What was not asked for is None. Everything but the output is float32.)")
      .def_ro("output", &AttentionResult::output,
              nb::for_getter(nb::sig("def output(self) -> _A")))
      .def_ro("attn_weights", &AttentionResult::attn_weights,
              nb::for_getter(nb::sig("def attn_weights(self) -> _W")))
      .def_ro("lse", &AttentionResult::lse,
              nb::for_getter(nb::sig("def lse(self) -> Any")))
      .def_ro("softmax_rows", &AttentionResult::softmax_rows,
              nb::for_getter(nb::sig("def softmax_rows(self) -> _A | Any")))
      .def_ro("statistics", &AttentionResult::statistics,
              nb::for_getter(nb::sig("def statistics(self) -> _S")))
      .def_ro("scores", &AttentionResult::scores,
              nb::for_getter(nb::sig("def scores(self) -> _A | Any")))
      .def_ro("state", &AttentionResult::state,
              nb::for_getter(nb::sig("def state(self) -> Any")))
      .def(State([](AttentionResult& r) {
        return std::tie(r.output, r.attn_weights, r.lse, r.softmax_rows,
                        r.statistics, r.scores, r.state);
      }))
      .def("__repr__", &text_of_properties);
}

}  // namespace

void bind_attention(nb::module_& module) {
  bind_result(module);
  const std::array tables = {kAttentionOptions, kOperationOptions,
                             kOutputOptions};
  // Python reads them as long as it runs.
  static const std::string signature =
      "def attention(query: Array, key: Array, value: Array, *, " +
      parameters_of(tables) + ") -> Array | AttentionResult";
  static const std::string documentation = kTensors + list_of(tables) + kResult;
  module.def(
      "attention", &call_attention<Graph::refused, AxisOrder::rows_first>,
      nb::arg("query").none(), nb::arg("key").none(), nb::arg("value").none(),
      nb::arg("options"), nb::sig(signature.c_str()), documentation.c_str());
  module.def("torch_attention",
             &call_attention<Graph::kept_by_caller, AxisOrder::heads_first>,
             nb::arg("query").none(), nb::arg("key").none(),
             nb::arg("value").none(), nb::arg("options"),
             "attention() of torch tensors (B, H, L, D), for headwise.torch, "
             "which records their gradients itself. cuda_stream: the tensors "
             "are on the current GPU.");
}

}  // namespace headwise::python
