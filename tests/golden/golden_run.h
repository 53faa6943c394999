// Computes a golden's case with headwise: by the name of each tensor that is to
// be reproduced, what we give for it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "golden/golden_case.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "support/recorded_trace.h"

namespace headwise::testing_support {

// A tensor may be computed in more than one way: its first word then names the
// way ("traced", "plain", "own masks", ...).
struct Computed {
  std::string way;
  std::map<std::string, Got> tensors;
};

template <std::size_t Rank>
Got got_of(const Tensor<float, Rank>& tensor) {
  return {{tensor.extents().begin(), tensor.extents().end()},
          {tensor.elements().begin(), tensor.elements().end()}};
}
inline Got got_of(const RecordedStep& step) {
  return {step.extents, step.elements};
}

// The layer of a case whose projections are called prefix + "q", "k", "v" and
// `out`.
MultiHeadAttention layer_of(const GoldenCase& golden, const std::string& prefix,
                            const std::string& out);

// Every way of computing the case. Throws Exception when headwise gives an
// error.
std::vector<Computed> compute(const GoldenCase& golden);

}  // namespace headwise::testing_support
