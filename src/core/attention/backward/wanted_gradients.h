// Which sums of the backward pass a call needs, by the gradients that it wants:
// no other product is computed and no memory taken for it.
#pragma once

#include "attention/call_views.h"

namespace headwise::inline HEADWISE_ABI {

struct WantedGradients {
  explicit WantedGradients(const CallGradients& gradients)
      : queries(gradients.query.given() ||
                gradients.score_weight.data() != nullptr ||
                gradients.state.query.data() != nullptr),
        keys(gradients.key.given() || gradients.bias_k.data() != nullptr ||
             gradients.state.key.data() != nullptr),
        values(gradients.value.given() || gradients.bias_v.data() != nullptr ||
               gradients.state.value.data() != nullptr),
        slopes(gradients.alibi.data() != nullptr ||
               gradients.state.alibi.data() != nullptr),
        t5_bias(gradients.t5_bias.data() != nullptr) {}

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
