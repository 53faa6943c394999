// Attention of a decoder's next tokens to what the encoder gave their
// sequences, whose keys and values are in a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"
#include "transformer/cached_sequences.h"
#include "transformer/params.h"
#include "transformer/seen_attention.h"

namespace headwise::inline HEADWISE_ABI::transformer {

struct CachedCross {
  const MultiHeadAttention& attention;
  std::size_t layer = 0;
  double scale = 1;
  const Rows& query;                         // (1, rows, hidden_size)
  const std::vector<std::int64_t>& offsets;  // of the sequences' rows
  const std::vector<CachedSequence*>& sequences;
  const ModelPass& pass;
  const Executor& executor;
};

// The bits of MultiHeadAttention::forward() on the encoder's rows. Errors:
// those of attention() and of the pass.
Result<SeenAttention> attend_to_encoded(const CachedCross& call,
                                        const SeenHeads& seen);

}  // namespace headwise::inline HEADWISE_ABI::transformer
