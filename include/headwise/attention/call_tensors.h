// All tensors of a call of attention as one list. attention(),
// attention_backward() and the plans turn their typed arguments into it, and
// everything behind them reads it: checks, kernels and back ends. The tensors
// of the options are in the options.
//
// Example:
//   CallTensors tensors(AttentionInputsOf<float>{q, k, v}, {.output = out});
//   Status s = plan.run(tensors, workspace);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "headwise/attention/tensors.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Every tensor that a call may have, in the order in which they are checked:
// what is read, the outputs of a forward call, the gradients of a backward one.
enum class CallTensor : std::uint8_t {
  query,
  key,
  value,
  saved_output,  // what the forward pass left for the backward one
  saved_rows,
  d_output,
  d_attn_weights,
  score_weight,
  bias,
  t5_bias,
  alibi,
  bias_k,
  bias_v,
  sinks,
  state_d_bias,
  output,
  attn_weights,
  lse,
  softmax_rows,
  rows,
  top_keys,
  top_weights,
  columns,
  map_mean,
  map_largest,
  scores,
  state_rows,
  state_context,
  d_query,
  d_key,
  d_value,
  d_bias,
  d_t5_bias,
  d_alibi,
  d_score_weight,
  d_sinks,
  d_bias_k,
  d_bias_v,
  state_d_query,
  state_d_key,
  state_d_value,
  state_d_alibi,
  state_d_sinks,
};
inline constexpr std::size_t kCallTensors = 43;
static_assert(kCallTensors <= 64);

constexpr std::size_t index_of(CallTensor tensor) {
  return static_cast<std::size_t>(tensor);
}

// Whether a backward call writes it.
constexpr bool is_gradient(CallTensor tensor) {
  return tensor >= CallTensor::d_query;
}
// The gradients of the options, which are float32.
inline constexpr std::array kOptionGradients = {
    CallTensor::d_bias,         CallTensor::d_t5_bias, CallTensor::d_alibi,
    CallTensor::d_score_weight, CallTensor::d_sinks,   CallTensor::d_bias_k,
    CallTensor::d_bias_v};

// As errors call it: "query", "statistics.rows", "d_bias_k".
std::string_view name_of(CallTensor tensor);

class CallTensors {
 public:
  CallTensors() : backward_(false) {}  // none
  template <class T>
  CallTensors(const AttentionInputsOf<T>& inputs,
              const AttentionOutputsOf<T>& outputs)
      : backward_(false) {
    using enum CallTensor;
    set(query, inputs.query);
    set(key, inputs.key);
    set(value, inputs.value);
    set(output, outputs.output);
    set(attn_weights, outputs.attn_weights);
    set(lse, outputs.lse);
    set(softmax_rows, outputs.softmax_rows);
    set(outputs.statistics);
    set(scores, outputs.scores);
    set(state_rows, outputs.state.softmax_rows);
    set(state_context, outputs.state.context);
  }
  template <class T>
  CallTensors(const BackwardInputsOf<T>& inputs,
              const AttentionGradientsOf<T>& gradients)
      : backward_(true) {
    using enum CallTensor;
    set(query, inputs.query);
    set(key, inputs.key);
    set(value, inputs.value);
    set(saved_output, inputs.output);
    set(saved_rows, inputs.softmax_rows);
    set(d_output, inputs.d_output);
    set(d_attn_weights, inputs.d_attn_weights);
    set(state_d_bias, gradients.state.bias);
    set(d_query, gradients.query);
    set(d_key, gradients.key);
    set(d_value, gradients.value);
    set(d_bias, gradients.bias);
    set(d_t5_bias, gradients.t5_bias);
    set(d_alibi, gradients.alibi);
    set(d_score_weight, gradients.score_weight);
    set(d_sinks, gradients.sinks);
    set(d_bias_k, gradients.bias_k);
    set(d_bias_v, gradients.bias_v);
    set(state_d_query, gradients.state.query);
    set(state_d_key, gradients.state.key);
    set(state_d_value, gradients.state.value);
    set(state_d_alibi, gradients.state.alibi);
    set(state_d_sinks, gradients.state.sinks);
  }

  bool backward() const { return backward_; }
  // No tensor where none is given.
  const TensorArg& operator[](CallTensor tensor) const {
    static constexpr TensorArg kNone;
    return (set_ & bit(tensor)) != 0
               ? *std::launder(reinterpret_cast<const TensorArg*>(
                     memory_ + index_of(tensor) * sizeof(TensorArg)))
               : kNone;
  }
  // A tensor without elements has a shape alone.
  bool has(CallTensor tensor) const { return (*this)[tensor].given(); }
  void set(CallTensor tensor, const TensorArg& argument) {
    put(tensor, argument);
  }
  // The same, without a TensorArg of its own.
  template <class T, std::size_t Rank>
  void set(CallTensor tensor, const TensorView<T, Rank>& view) {
    put(tensor, view);
  }
  void set(const StatisticsViews& statistics) {
    using enum CallTensor;
    set(rows, statistics.rows);
    set(top_keys, statistics.top_keys);
    set(top_weights, statistics.top_weights);
    set(columns, statistics.columns);
    set(map_mean, statistics.map_mean);
    set(map_largest, statistics.map_largest);
  }
  // Of a tensor that is float32 in every call.
  template <std::size_t Rank>
  TensorView<float, Rank> floats(CallTensor tensor) const {
    return (*this)[tensor].view<float, Rank>();
  }
  template <std::size_t Rank>
  TensorView<const float, Rank> read_floats(CallTensor tensor) const {
    return (*this)[tensor].view<const float, Rank>();
  }
  StatisticsViews statistics() const {
    using enum CallTensor;
    return {floats<4>(rows),        (*this)[top_keys].view<std::int64_t, 4>(),
            floats<4>(top_weights), floats<3>(columns),
            floats<4>(map_mean),    floats<4>(map_largest)};
  }

 private:
  static std::uint64_t bit(CallTensor tensor) {
    return std::uint64_t{1} << index_of(tensor);
  }
  template <class Argument>
  void put(CallTensor tensor, const Argument& argument) {
    std::size_t extents = 0;
    for (const std::size_t extent : argument.extents()) {
      extents |= extent;
    }
    set_ &= ~bit(tensor);
    if (argument.data() != nullptr || extents != 0) {
      set_ |= bit(tensor);
      new (memory_ + index_of(tensor) * sizeof(TensorArg)) TensorArg(argument);
    }
  }

  bool backward_;
  // Bit n: tensor n is at place n of the memory. The rest of the memory is not
  // set: that would take a tenth of the smallest call.
  std::uint64_t set_ = 0;
  alignas(TensorArg) std::byte memory_[kCallTensors * sizeof(TensorArg)];
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
