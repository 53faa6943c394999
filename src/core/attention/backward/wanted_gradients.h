// Which sums of the backward pass a call needs, by the gradients that it wants:
// no other product is computed and no memory taken for it.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "headwise/attention/call_tensors.h"

namespace headwise::inline HEADWISE_ABI {

struct WantedGradients {
  explicit WantedGradients(const CallTensors& tensors)
      : queries(any(tensors, {CallTensor::d_query, CallTensor::d_score_weight,
                              CallTensor::state_d_query})),
        keys(any(tensors, {CallTensor::d_key, CallTensor::d_bias_k,
                           CallTensor::state_d_key})),
        values(any(tensors, {CallTensor::d_value, CallTensor::d_bias_v,
                             CallTensor::state_d_value})),
        slopes(any(tensors, {CallTensor::d_alibi, CallTensor::state_d_alibi})),
        t5_bias(tensors.has(CallTensor::d_t5_bias)) {}

  static bool any(const CallTensors& tensors,
                  std::initializer_list<CallTensor> some) {
    return std::ranges::any_of(
        some, [&](CallTensor tensor) { return tensors.has(tensor); });
  }

  // Whether blocks of queries need to go through the blocks of keys. The
  // gradient of a dense bias has its own pass, that of a sink needs no key.
  bool any_of_pairs() const {
    return queries || keys || values || slopes || t5_bias;
  }

  bool queries;  // and those of a score_weight
  bool keys;
  bool values;
  bool slopes;
  bool t5_bias;
};

}  // namespace headwise::inline HEADWISE_ABI
