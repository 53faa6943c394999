// The tensors of a call by the types that its list says, after check_call().
#pragma once

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/tensors.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
AttentionInputsOf<T> inputs_of(const CallTensors& tensors) {
  const auto read = [&](CallTensor tensor) {
    return tensors[tensor].view<const T, 4>();
  };
  using enum CallTensor;
  return {read(query), read(key), read(value)};
}

template <class T>
AttentionOutputsOf<T> outputs_of(const CallTensors& tensors) {
  using enum CallTensor;
  return {.output = tensors[output].view<T, 4>(),
          .attn_weights = tensors.floats<4>(attn_weights),
          .lse = tensors.floats<3>(lse),
          .softmax_rows = tensors.floats<4>(softmax_rows),
          .statistics = tensors.statistics(),
          .scores = tensors.floats<4>(scores),
          .state = {tensors.floats<4>(state_rows),
                    tensors.floats<4>(state_context)}};
}

template <class T>
BackwardInputsOf<T> backward_inputs_of(const CallTensors& tensors) {
  const auto read = [&](CallTensor tensor) {
    return tensors[tensor].view<const T, 4>();
  };
  using enum CallTensor;
  return {read(query),
          read(key),
          read(value),
          read(saved_output),
          tensors.read_floats<4>(saved_rows),
          read(d_output),
          tensors.read_floats<4>(d_attn_weights)};
}

}  // namespace headwise::inline HEADWISE_ABI
