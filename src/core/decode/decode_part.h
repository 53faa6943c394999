// Attention over what a cache holds of a sequence, as a part of the keys of a
// call: where the tokens of a sequence are divided among several caches.
#pragma once

#include <cstddef>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/workspace.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class DecodePart {
 public:
  // The keys are the tokens of sequence `id`; those of key head g of the spec
  // are in head first_head + g of the cache.
  DecodePart(KvCache& cache, SequenceId id, std::size_t first_head)
      : cache_(cache), id_(id), first_head_(first_head) {}

  std::size_t workspace_bytes(const AttentionSpec& spec);
  // Reads and writes what spec.key_part says. The spec, the query and the
  // outputs must have been checked, and have an axis B of 1.
  void attend(const AttentionSpec& spec, const CallTensors& tensors,
              Workspace& workspace);

 private:
  KvCache& cache_;
  SequenceId id_;
  std::size_t first_head_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
