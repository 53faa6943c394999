// The feed-forward network of a layer, or its experts.
#pragma once

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// x and the result are (1, rows, hidden_size). A row's bits depend on that row
// alone. Errors: out_of_memory.
Result<Rows> fed_forward(const FeedForward& network,
                         const FeedForwardSpec& spec, const Rows& x,
                         const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI::transformer
