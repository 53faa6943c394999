// A decode step: the last token of a sequence is new, and a cache has the keys
// and values of the tokens before it.
//
//   new_token      (B, Lq)           Lq = 1
//   q, k, v, ...   of the new token
//   cached_keys    (B, Hkv, P, D)    P tokens before
//   keys           (B, Hkv, Lkv, D)  cached and new, Lkv = P + 1
//   cached_values, values            likewise
//   scores, ...    (B, H, Lq, Lkv)   of one query
#pragma once

#include <span>
#include <vector>

#include "headwise/inspect/trace.h"

namespace headwise::cli {

// The decode step that ends a pass of self-attention over token ids: rows of
// the same numbers, for a row has the same bits in both. Also of steps without
// data. The sequences have at least one token, and no padding.
std::vector<TracedStep> decode_steps(std::span<const TracedStep> pass);

}  // namespace headwise::cli
