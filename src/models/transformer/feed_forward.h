// The feed-forward network of a layer, or its experts.
#pragma once

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// What a layer's network computes. All layers use the same memory, because page
// faults on new memory would take a sixth of a pass on two threads.
struct FedRows {
  Rows inner;
  Rows output;  // (1, rows, hidden_size)
};

// x is (1, rows, hidden_size). A row's bits depend on that row alone. Errors:
// out_of_memory.
Status fed_forward(const FeedForward& network, const FeedForwardSpec& spec,
                   const Rows& x, const Executor& executor, FedRows& made);

}  // namespace headwise::inline HEADWISE_ABI::transformer
