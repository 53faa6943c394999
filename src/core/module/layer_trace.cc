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

// The axis of key and value heads has a name of its own if there are fewer.
std::string_view kv_axis(const SplitHeads& heads) {
  return heads.key.extent(2) != heads.query.extent(2) ? "Hkv" : "H";
}

// Queries and keys after a step of that name.
void tell_both(TraceSink* trace, std::string_view query, std::string_view key,
               const SplitHeads& heads) {
  if (trace != nullptr) {
    tell(*trace, query, {"B", "H", "Lq", "D"}, as_bhld(heads.query));
    tell(*trace, key, {"B", kv_axis(heads), "Lkv", "D"}, as_bhld(heads.key));
  }
}

}  // namespace

void trace_heads(TraceSink* trace, const Projected& projected,
                 TensorView<const float, 3> value, const SplitHeads& heads) {
  if (trace == nullptr) {
    return;
  }
  const std::string_view kv = kv_axis(heads);
  const bool grouped = kv == "Hkv";
  tell(*trace, "q", {"B", "Lq", "H*D"}, projected.query.view());
  tell(*trace, "k", {"B", "Lkv", grouped ? "Hkv*D" : "H*D"},
       projected.key.view());
  tell(*trace, "v", {"B", "Lkv", grouped ? "Hkv*Dv" : "H*Dv"}, value);
  tell(*trace, "q_split", {"B", "Lq", "H", "D"}, heads.query);
  tell(*trace, "k_split", {"B", "Lkv", kv, "D"}, heads.key);
  tell(*trace, "v_split", {"B", "Lkv", kv, "Dv"}, heads.value);
  tell(*trace, "q_heads", {"B", "H", "Lq", "D"}, as_bhld(heads.query));
  tell(*trace, "k_heads", {"B", kv, "Lkv", "D"}, as_bhld(heads.key));
  tell(*trace, "v_heads", {"B", kv, "Lkv", "Dv"}, as_bhld(heads.value));
}

void trace_normed(TraceSink* trace, const SplitHeads& heads) {
  tell_both(trace, "q_normed", "k_normed", heads);
}

void trace_rotated(TraceSink* trace, const SplitHeads& heads) {
  tell_both(trace, "q_rotated", "k_rotated", heads);
}

Status trace_operation(TraceSink* trace, const SplitHeads& heads,
                       const AttentionOptions& options,
                       const OperationOptions& operation_options) {
  if (trace == nullptr) {
    return ok();
  }
  AttentionOptions of_one = options;
  if (options.offsets.ragged() && options.offsets.sequences() == 1) {
    of_one.offsets = {};  // the same rows
  }
  const auto steps = stepwise_attention(heads.query, heads.key, heads.value,
                                        of_one, operation_options, trace);
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
