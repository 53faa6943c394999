// The keys and values of all ranks on each of them.
#pragma once

#include <span>

#include "distribute/key_rows.h"
#include "distribute/shards.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// All rows, in the order of the shards. Errors: out_of_memory, rank_failure.
template <class T>
Result<KeyRows<T>> gather_keys(Communicator& group, const AttentionShape& shape,
                               std::span<const Shard> keys,
                               const KeyViews<const T>& own);

}  // namespace headwise::inline HEADWISE_ABI
