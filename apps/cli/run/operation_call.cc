#include "operation_call.h"

#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/offsets.h"
#include "operation/number_type.h"
#include "operation_gradients.h"
#include "run_gradients.h"

namespace headwise::cli {
namespace {

// What the backward pass reads of the forward pass in T.
template <class T>
struct ForwardOf {
  Operands<T, 4> in;      // in the layout of the files
  Tensor<T, 4> output{};  // likewise
  Tensor<float, 4> attn_weights{};
  Tensor<float, 4> softmax_rows{};
};

template <class T>
Result<std::vector<NamedGradient>> operation_gradients(
    const RunFlags& flags, const ForwardOf<T>& forward, const ReadyCall& ready,
    bool batched) {
  const auto& shape = forward.output.extents();
  HEADWISE_ASSIGN(auto files,
                  read_upstream(flags, batched, {shape.begin(), shape.end()},
                                forward.attn_weights.extents()));
  HEADWISE_ASSIGN(auto wide_d_output,
                  to_float<4>(files.d_output, "run", "--d-output"));
  HEADWISE_ASSIGN(const auto d_output, narrow<T>(std::move(wide_d_output)));
  HEADWISE_ASSIGN(auto gradients, OperationGradients<T>::create(
                                      forward.in, ready.spec, ready.bias));
  const bool heads_first = flags.heads_first();
  CallTensors tensors(
      BackwardInputsOf<T>{as_extents(forward.in.query.view(), heads_first),
                          as_extents(forward.in.key.view(), heads_first),
                          as_extents(forward.in.value.view(), heads_first),
                          as_extents(forward.output.view(), heads_first),
                          forward.softmax_rows,
                          as_extents(d_output.view(), heads_first),
                          files.d_attn_weights_view()},
      AttentionGradientsOf<T>{});
  gradients.add_to(tensors, heads_first, true);
  HEADWISE_TRY(attention_backward(tensors, ready.spec));
  HEADWISE_ASSIGN(auto wide, widen<T>(std::move(gradients.operands)));
  HEADWISE_TRY(
      ready.rotation.rotate_back({as_extents(wide.query.view(), heads_first),
                                  as_extents(wide.key.view(), heads_first)}));
  std::vector<NamedGradient> by_name;
  by_name.push_back(named("d_query", std::move(wide.query), batched));
  by_name.push_back(named("d_key", std::move(wide.key), batched));
  by_name.push_back(named("d_value", std::move(wide.value), batched));
  std::move(gradients).name_options(by_name);
  return by_name;
}

// The operation on tensors in T; the result is float32 again.
template <class T>
Result<RunResult> attend_in(const RunFlags& flags, Operands<float, 4> floats,
                            const ReadyCall& ready, bool batched) {
  const AttentionSpec& spec = ready.spec;
  HEADWISE_ASSIGN(auto in, narrow<T>(std::move(floats)));
  const bool heads_first = flags.heads_first();
  const auto q = as_extents(std::as_const(in.query).view(), heads_first);
  const auto k = as_extents(std::as_const(in.key).view(), heads_first);
  const auto v = as_extents(std::as_const(in.value).view(), heads_first);
  const Extents<4> of_output =
      expected_tensor(spec, CallTensor::output).extents4();
  const auto [B, Lq, H, Dv] = of_output;
  auto output =
      Tensor<T, 4>::create(heads_first ? Extents<4>{B, H, Lq, Dv} : of_output);
  const auto make = [&](CallTensor tensor) {
    return Tensor<float, 4>::create(expected_tensor(spec, tensor).extents4());
  };
  auto attn_weights = make(CallTensor::attn_weights);
  auto scores = make(CallTensor::scores);
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  auto rows = make(CallTensor::softmax_rows);
  HEADWISE_TRY(output);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(lse);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(scores);
  HEADWISE_TRY(attention(
      CallTensors(AttentionInputsOf<T>{q, k, v},
                  AttentionOutputsOf<T>{
                      .output = as_extents(output->view(), heads_first),
                      .attn_weights = *attn_weights,
                      .lse = *lse,
                      .softmax_rows = *rows,
                      .scores = *scores}),
      spec));
  ForwardOf<T> forward{std::move(in), *std::move(output),
                       *std::move(attn_weights), *std::move(rows)};
  std::vector<NamedGradient> gradients;
  if (!flags.d_output.empty()) {
    HEADWISE_ASSIGN(gradients,
                    operation_gradients<T>(flags, forward, ready, batched));
  }
  HEADWISE_ASSIGN(auto wide_output, widen<T>(std::move(forward.output)));
  return RunResult{.output_by_heads = std::move(wide_output),
                   .output = {},
                   .attn_weights = std::move(forward.attn_weights),
                   .lse = *std::move(lse),
                   .gradients = std::move(gradients),
                   .scores = *std::move(scores)};
}

}  // namespace

Result<RunResult> attend(const RunFlags& flags, Operands<float, 4> in,
                         const ReadyCall& ready, bool batched) {
  return with_dtype(flags.dtype, [&](auto number) {
    return attend_in<decltype(number)>(flags, std::move(in), ready, batched);
  });
}

}  // namespace headwise::cli
