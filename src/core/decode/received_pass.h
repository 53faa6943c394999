// The second pass of a run on a cache that sums received attention: the scores
// of every query are computed once more, now that M and sum of its row are
// known, and what each key receives is added to its sums. Scores are those of
// attention/few_rows, keys in the lanes, for any number of queries. Checks and
// allocates nothing.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"
#include "decode/received_sums.h"

namespace headwise::inline HEADWISE_ABI {

// The bytes for calls of any lengths.
std::size_t received_pass_bytes(const AttentionSpec& spec);
// The call was run and its softmax_rows have a view. `workspace` has that many
// bytes, on a 64-byte boundary.
void add_received(const DecodeCall& call, ReceivedSums& sums,
                  std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
