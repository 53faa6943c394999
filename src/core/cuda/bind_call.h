// From a checked AttentionSpec to what kernels read.
#pragma once

#include "cuda/call.h"
#include "cuda/upload.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// The lists of a call, of which the pointers are known once they are copied.
struct CallLists {
  std::size_t query_offsets;
  std::size_t key_offsets;
  std::size_t key_ranges;
  std::size_t query_starts;
  std::size_t slopes;
  std::size_t sequence_ids;
};

CallLists add_lists(const AttentionSpec& spec,
                    const std::vector<KeyRange>& ranges, Upload& upload);
// Errors: unsupported for more dense masks than kMostDenseMasks, and for a rule
// of two intervals or of computed values.
Result<Call> bind_call(const AttentionSpec& spec,
                       const std::vector<KeyRange>& ranges,
                       const CallLists& lists, std::byte* uploaded);

}  // namespace headwise::inline HEADWISE_ABI::cuda
