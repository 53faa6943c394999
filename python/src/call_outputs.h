// What a call of attention returns to Python: new arrays of the shapes that its
// spec gives, or the output that was passed as `out`.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "call_options.h"
#include "call_tensors.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "new_array.h"
#include "statistics_object.h"

namespace headwise::python {

// headwise.AttentionResult; None for what was not asked for.
struct AttentionResult {
  nb::object output, attn_weights, lse, softmax_rows, statistics, scores, state;
};

class CallOutputs {
 public:
  // Arrays of the library of `like`, in the shapes of `spec`, which outlives
  // this. `options` say which; of the run, not of the plan. Errors: those of
  // the arrays `out` and `state`; MemoryError.
  CallOutputs(const AttentionSpec& spec, const ArrayArgument& like,
              BatchAxes axes, const CallOptions& options);

  // To write to. Errors: those of the arrays `out` and `state`.
  template <class T>
  AttentionOutputsOf<T> views();
  // The pooled statistics, after the outputs were written. Needs no interpreter
  // lock. Errors: out_of_memory.
  Status pool();
  // The output, or an AttentionResult if more was asked for. Only once.
  nb::object object() &&;

 private:
  void take_state(const nb::object& state);

  const AttentionSpec& spec_;
  const ArrayArgument& like_;
  BatchAxes axes_;
  NewArray output_, attn_weights_, lse_, softmax_rows_, scores_;
  NewArray state_rows_, state_context_;
  std::optional<ArrayArgument> given_output_;
  std::optional<ArrayArgument> given_state_rows_, given_state_context_;
  std::optional<AttentionStatistics> statistics_;
};

// Puts the call into the stream of its options, and waits for nothing. Errors:
// NotImplementedError for statistics, and where headwise was built without
// CUDA; TypeError for float32.
nb::object run_on_gpu(const CallTensors& tensors, const CallOptions& options);

// Creates nothing but the outputs, and runs the plan without the interpreter
// lock: what attention() and AttentionPlan.run() do. `offsets`: those of this
// run, in place of the plan's.
nb::object run_call(const AttentionPlan& plan, const CallTensors& tensors,
                    const CallOptions& options, const Offsets& offsets = {});

}  // namespace headwise::python
