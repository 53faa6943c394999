#include "module/layer_trace.h"

#include <initializer_list>
#include <string_view>

#include "headwise/attention/stepwise.h"
#include "headwise/steps/heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

void tell(TraceSink& trace, std::string_view name,
          std::initializer_list<std::string_view> axes, const AnyView& tensor) {
  trace.on_step(name, {axes.begin(), axes.size()}, tensor);
}

void trace_projected(TraceSink& trace, const Projected& projected,
                     TensorView<const float, 3> value,
                     const SplitHeads& heads) {
  const bool grouped = heads.key.extent(2) != heads.query.extent(2);
  const std::string_view kv = grouped ? "Hkv" : "H";
  tell(trace, "q", {"B", "Lq", "H*D"}, projected.query.view());
  tell(trace, "k", {"B", "Lkv", grouped ? "Hkv*D" : "H*D"},
       projected.key.view());
  tell(trace, "v", {"B", "Lkv", grouped ? "Hkv*Dv" : "H*Dv"}, value);
  tell(trace, "q_heads", {"B", "H", "Lq", "D"}, as_bhld(heads.query));
  tell(trace, "k_heads", {"B", kv, "Lkv", "D"}, as_bhld(heads.key));
  tell(trace, "v_heads", {"B", kv, "Lkv", "Dv"}, as_bhld(heads.value));
}

}  // namespace

Status trace_heads(TraceSink* trace, const Projected& projected,
                   TensorView<const float, 3> value, const SplitHeads& heads,
                   const AttentionOptions& options,
                   const OperationOptions& operation_options) {
  if (trace == nullptr) {
    return ok();
  }
  trace_projected(*trace, projected, value, heads);
  const auto steps = stepwise_attention(heads.query, heads.key, heads.value,
                                        options, operation_options, trace);
  return steps ? ok() : Status(steps.error());
}

void trace_gated(TraceSink* trace, TensorView<const float, 4> gated) {
  if (trace != nullptr) {
    tell(*trace, "gated", {"B", "H", "Lq", "Dv"}, as_bhld(gated));
  }
}

void trace_merged(TraceSink* trace, TensorView<const float, 3> merged) {
  if (trace != nullptr) {
    tell(*trace, "merged", {"B", "Lq", "H*Dv"}, merged);
  }
}

void trace_output(TraceSink* trace, TensorView<const float, 3> output,
                  bool has_w_o) {
  if (trace != nullptr) {
    tell(*trace, "output", {"B", "Lq", has_w_o ? "E" : "H*Dv"}, output);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
