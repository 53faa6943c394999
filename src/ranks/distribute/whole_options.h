// The options of a whole call, of which each rank makes parts.
#pragma once

#include <string_view>

#include "attention/call_part.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

// The shape of its spec, and its options.
struct WholeOptions {
  const AttentionShape& shape;
  const AttentionOptions& options;
  const OperationOptions& operation_options;

  // A call of some queries on some keys of a sequence.
  CallPart part(std::size_t sequence, const PartRange& queries,
                const PartRange& keys) const {
    CallPart part = internal::whole_call(shape);
    part.sequences = {sequence, 1};
    part.queries = queries;
    part.keys = keys;
    return part;
  }

  // Those of a part. Errors: those of options_of_part().
  auto of(const CallPart& part,
          std::string_view operation = "attention") const {
    return internal::options_of_part(shape, options, operation_options, part,
                                     operation);
  }
  auto of(const Shard& queries, const PartRange& keys, KeyPart key_part) const {
    auto cut = of(part(queries.sequence, queries.tokens, keys));
    if (cut) {
      cut->operation_options.key_part = key_part;
    }
    return cut;
  }
};

}  // namespace headwise::inline HEADWISE_ABI
