// The options of a whole call, of which each rank makes parts.
#pragma once

#include "attention/call_part.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// The shape of its spec, and its options.
struct WholeOptions {
  const AttentionShape& shape;
  const AttentionOptions& options;
  const OperationOptions& operation_options;

  // Those of a call of these queries on some keys of their sequence. Errors:
  // those of options_of_part().
  auto of(const Shard& queries, const PartRange& keys, KeyPart key_part) const {
    CallPart part = internal::whole_call(shape);
    part.sequences = {queries.sequence, 1};
    part.queries = queries.tokens;
    part.keys = keys;
    auto cut =
        internal::options_of_part(shape, options, operation_options, part);
    if (cut) {
      cut->operation_options.key_part = key_part;
    }
    return cut;
  }
};

}  // namespace headwise::inline HEADWISE_ABI
