// Gradients of the heads that are sums over all rows, of ranks that have some
// rows.
#pragma once

#include <cstddef>
#include <string_view>

#include "distribute/exchange_heads.h"
#include "distribute/gradient_rows.h"
#include "distribute/wanted.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// Those of ALiBi's slopes and of the sinks: each rank collects what all rows
// give to its heads and adds it up in order.
class RowGradients {
 public:
  // Memory for what a rank's rows give to those that some rank wants. Errors:
  // out_of_memory, rank_failure.
  static Result<RowGradients> create(Communicator& group,
                                     const AttentionShape& shape,
                                     std::size_t rows,
                                     const CallTensors& tensors);

  RowShares shares();
  // Then, on each rank that wants them, the gradients. Errors: out_of_memory,
  // rank_failure.
  Status add_up(Communicator& group, const AttentionShape& shape,
                const Shards& shards, const RankHeads& heads,
                const CallTensors& tensors) const;

 private:
  explicit RowGradients(const Wanted<2>& wanted) : wanted_(wanted) {}

  Wanted<2> wanted_;
  // (1, Hq, rows, 1); no elements: no rank wants them.
  Tensor<float, 4> alibi_;
  Tensor<float, 4> sinks_;
};

}  // namespace headwise::inline HEADWISE_ABI
