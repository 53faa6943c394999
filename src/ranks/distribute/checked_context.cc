#include "distribute/checked_context.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "distribute/call_digest.h"
#include "distribute/rank_tensors.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {
Result<CheckedContext> checked_context(std::string_view operation,
                                       const ContextCall& call,
                                       std::size_t ranks, bool in_parts) {
  HEADWISE_TRY(
      check_rank_options(operation, call.options, call.operation_options));
  if (call.chunk_keys == 0 || call.chunk_keys % kernels::kKeyBlock != 0) {
    return value_error(
        operation, "chunk_keys", std::to_string(call.chunk_keys),
        message("a positive multiple of {}", kernels::kKeyBlock));
  }
  HEADWISE_ASSIGN(auto spec,
                  AttentionSpec::create(call.tensors, call.options,
                                        call.operation_options, operation));
  HEADWISE_ASSIGN(auto shards,
                  shards_of(call.plan, ranks, spec.mask, operation));
  if (in_parts) {
    HEADWISE_TRY(spec.check_keys_in_parts(operation));
  }
  return CheckedContext{std::move(spec), std::move(shards)};
}

Status check_same_context(Communicator& group, DType type,
                          const ContextCall& call, const CheckedContext& all) {
  Digest digest;
  digest.add(static_cast<std::uint64_t>(call.keys));
  digest.add(call.chunk_keys);
  return group.check_same(
      "the call", describe_call(name_of(type), all.spec, all.shards, digest));
}

}  // namespace headwise::inline HEADWISE_ABI
