// The check of rotate_heads(), of a call whose rows are on several ranks.
#pragma once

#include "headwise/base/result.h"
#include "headwise/steps/query_start.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/rotate_heads.h"
#include "headwise/steps/shape.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The errors of rotate_heads(). The elements of `heads` are not read.
Status check_rotation(const Rotary& rotary, const QueriesAndKeys& heads,
                      const AttentionShape& shape,
                      const QueryStart& query_start,
                      const HeadPositions& positions);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
