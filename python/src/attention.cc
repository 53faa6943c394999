// headwise.attention
#include <nanobind/nanobind.h>

#include "bindings.h"
#include "call_options.h"
#include "call_outputs.h"
#include "call_tensors.h"
#include "error.h"
#include "headwise/attention/plan.h"

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

constexpr char kSignature[] =
    "def attention(query: Array, key: Array, value: Array, *, "
    "mask: Mask | Array | None = None, scale: float | None = None, "
    "softcap: float | None = None, bias: Bias | Array | None = None, "
    "t5_bias: T5Bias | None = None, alibi: Array | None = None, "
    "sinks: Array | None = None, "
    "query_start: int | Integers | str | None = None, "
    "offsets: Integers | tuple[Integers, Integers] | None = None, "
    "empty_rows: str | None = None, dropout: Dropout | None = None, "
    "attn_weights: str | None = None, scores: str | None = None, "
    "arithmetic: str | None = None, "
    "executor: Executor | None = None, score_weight: Array | None = None, "
    "kv_groups: Integers | None = None, "
    "statistics: StatisticsOptions | None = None, "
    "added_keys: AddedKeys | None = None, key_part: str | None = None, "
    "lse: bool | None = None, softmax_rows: bool | None = None, "
    "out: Array | None = None, state: tuple[Array, Array] | None = None) "
    "-> Array | AttentionResult";

constexpr char kDocumentation[] =
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

    mask          who may attend to whom: causal() & key_lengths(n), or an array
                  of bool, (B, H, Lq, Lkv) or (Lq, Lkv); True = may attend
    scale         factor on q.k; default 1/sqrt(D)
    softcap       scores become softcap * tanh(scores / softcap)
    bias          float32, added to the scores; -inf masks. (B, H, Lq, Lkv) or
                  (Lq, Lkv), or dense(array, axes)
    t5_bias       {"table": (buckets, Hq), "max_distance": 128,
                  "bidirectional": False}; float32
    alibi         (Hq), float32: slopes, as from alibi_slopes(Hq)
    sinks         (Hq), float32: one more score per head, without a value
    query_start   position of query 0 among the keys: a number, (B), or
                  "bottom_right"; default 0
    offsets       (B + 1) of a ragged batch, or a tuple for queries and keys
    empty_rows    what rows without a key give: "zero" (default), "uniform",
                  "nan"
    dropout       {"p": 0.1, "training": True, "seed": 7, "step": 0, "layer": 0,
                  "sequence_ids": (B), "keep_mask": (B, Hq, Lq, Lkv),
                  "first_key": that of a part of the keys}
    attn_weights  "per_head", "mean" or "after_dropout": also return them
    scores        "raw", "softcap", "bias" or "softmax": also return them
    arithmetic    "bf16": multiply numbers rounded to bfloat16, add them up in
                  float32; default "exact"
    executor      Executor.with_threads(n)
    score_weight  (Hq, D), float32: additive scores
    kv_groups     (Hkv): number of query heads that read each key head
    statistics    {"rows": True, "top_keys": 4, "columns": True, "map": True,
                  "separators": (B, Lkv), "query_lengths": (B)}
    added_keys    {"bias_k": (Hkv, D), "bias_v": (Hkv, Dv), "zero_attn": True}
    key_part      "first", "middle" or "last": the call has a part of the keys
    state         (softmax_rows, context) of such parts; "first" makes one
    lse           True: also return the log-sum-exp of each row
    softmax_rows  True: also return what the backward pass needs
    out           an array for the output

Returns the output, or an AttentionResult if more was asked for.

Errors: ValueError for shapes and values, TypeError for element types, devices
and unknown options, NotImplementedError, MemoryError. A torch tensor that
requires a gradient is a TypeError while gradients are recorded: headwise.torch
records them.)";

void bind_result(nb::module_& module) {
  nb::class_<AttentionResult>(
      module, "AttentionResult",
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
              nb::for_getter(nb::sig("def output(self) -> Any")))
      .def_ro("attn_weights", &AttentionResult::attn_weights,
              nb::for_getter(nb::sig("def attn_weights(self) -> Any")))
      .def_ro("lse", &AttentionResult::lse,
              nb::for_getter(nb::sig("def lse(self) -> Any")))
      .def_ro("softmax_rows", &AttentionResult::softmax_rows,
              nb::for_getter(nb::sig("def softmax_rows(self) -> Any")))
      .def_ro("statistics", &AttentionResult::statistics,
              nb::for_getter(nb::sig("def statistics(self) -> Any")))
      .def_ro("scores", &AttentionResult::scores,
              nb::for_getter(nb::sig("def scores(self) -> Any")))
      .def_ro("state", &AttentionResult::state,
              nb::for_getter(nb::sig("def state(self) -> Any")));
}

}  // namespace

void bind_attention(nb::module_& module) {
  bind_result(module);
  module.def(
      "attention", &call_attention<Graph::refused, AxisOrder::rows_first>,
      nb::arg("query").none(), nb::arg("key").none(), nb::arg("value").none(),
      nb::arg("options"), nb::sig(kSignature), kDocumentation);
  module.def("torch_attention",
             &call_attention<Graph::kept_by_caller, AxisOrder::heads_first>,
             nb::arg("query").none(), nb::arg("key").none(),
             nb::arg("value").none(), nb::arg("options"),
             "attention() of torch tensors (B, H, L, D), for headwise.torch, "
             "which records their gradients itself. cuda_stream: the tensors "
             "are on the current GPU.");
}

}  // namespace headwise::python
