// Calls that are cut into parts of their keys (headwise/attention/state.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention/attention_call.h"
#include "attention/cut_call.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/state.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Part n of `count`.
inline KeyPart key_part(std::size_t n, std::size_t count) {
  if (count == 1) {
    return KeyPart::all;
  }
  return n == 0           ? KeyPart::first
         : n + 1 == count ? KeyPart::last
                          : KeyPart::middle;
}

// Filled with 42, so that a test sees which elements were never written.
struct StateTensors {
  explicit StateTensors(const AttentionShape& tensors)
      : softmax_rows(
            filled<float, 4>({tensors.B, tensors.Hq, tensors.Lq, 2}, 42.0f)),
        context(filled<float, 4>(
            {tensors.B, tensors.Lq, tensors.Hq, tensors.Dv}, 42.0f)) {}

  AttentionState views() {
    return {.softmax_rows = softmax_rows.view(), .context = context.view()};
  }

  Tensor<float, 4> softmax_rows;
  Tensor<float, 4> context;
};

// The options without those that need all keys at once.
inline AttentionOptions options_of_parts(AttentionOptions options) {
  options.attn_weights = AttnWeights::none;
  options.scores = ScoresStage::none;
  if (options.empty_rows == EmptyRow::uniform) {
    options.empty_rows = EmptyRow::zero;
  }
  return options;
}

// Where a state lies: in the place of what it becomes, or elsewhere.
enum class StateMemory { own, of_outputs };

struct PartOutputs {
  Tensor<float, 4> output;
  Tensor<float, 3> lse;
  Tensor<float, 4> softmax_rows;

  explicit PartOutputs(const AttentionShape& s)
      : output(filled<float, 4>({s.B, s.Lq, s.Hq, s.Dv}, 42.0f)),
        lse(filled<float, 3>({s.B, s.Hq, s.Lq}, 42.0f)),
        softmax_rows(filled<float, 4>({s.B, s.Hq, s.Lq, 2}, 42.0f)) {}

  AttentionOutputs views() {
    return {.output = output.view(),
            .lse = lse.view(),
            .softmax_rows = softmax_rows.view()};
  }
};

inline testing::AssertionResult same_bits(const PartOutputs& got,
                                          const PartOutputs& want) {
  if (auto r = same_bits(got.output, want.output); !r) {
    return r << " of output";
  }
  if (auto r = same_bits(got.lse, want.lse); !r) {
    return r << " of lse";
  }
  return same_bits(got.softmax_rows, want.softmax_rows) << " of softmax_rows";
}

// The keys [first, first + count) of (B, Lkv, H, D).
inline TensorView<const float, 4> keys_of(const Tensor<float, 4>& x,
                                          std::size_t first,
                                          std::size_t count) {
  const auto [B, L, H, D] = x.extents();
  return {x.data() + first * H * D, {B, count, H, D}, x.view().strides()};
}

inline PartOutputs attend_to_all(const Inputs<float>& in,
                                 const AttentionShape& shape,
                                 const AttentionOptions& options,
                                 const OperationOptions& operation_options) {
  PartOutputs out(shape);
  const Status s =
      attention(view_of(in.query), view_of(in.key), view_of(in.value),
                out.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return out;
}

// The same in parts that begin at `cuts`, of which the first is 0.
inline PartOutputs attend_in_parts(const Inputs<float>& in,
                                   const AttentionShape& shape,
                                   const AttentionOptions& options,
                                   OperationOptions operation_options,
                                   const std::vector<std::size_t>& cuts,
                                   StateMemory memory = StateMemory::own) {
  const AttentionSpec whole =
      AttentionSpec::create(shape, options, operation_options).value();
  PartOutputs out(shape);
  StateTensors state(shape);
  for (std::size_t n = 0; n < cuts.size(); ++n) {
    const std::size_t end = n + 1 < cuts.size() ? cuts[n + 1] : shape.Lkv;
    const std::size_t count = end - cuts[n];
    const CutOptions part(whole, options, operation_options,
                          keys_cut(shape, cuts[n], count));
    operation_options.key_part = key_part(n, cuts.size());
    AttentionOutputs outputs =
        n + 1 == cuts.size() ? out.views() : AttentionOutputs();
    if (cuts.size() != 1) {
      outputs.state = memory == StateMemory::own
                          ? state.views()
                          : AttentionState{out.softmax_rows, out.output};
    }
    const Status s =
        attention(view_of(in.query), keys_of(in.key, cuts[n], count),
                  keys_of(in.value, cuts[n], count), outputs, part.options(),
                  operation_options);
    EXPECT_TRUE(s) << s.error().message();
  }
  return out;
}

}  // namespace headwise::testing_support
