#include "distribute/checked_heads.h"

#include <utility>

#include "distribute/call_digest.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {

Result<CheckedHeads> checked_heads(std::string_view operation,
                                   const HeadsCall& call, std::size_t ranks) {
  HEADWISE_TRY(
      check_rank_options(operation, call.options, call.operation_options));
  auto spec = AttentionSpec::create(call.tensors, call.options,
                                    call.operation_options, operation);
  HEADWISE_TRY(spec);
  auto shards = shards_of(call.tokens, ranks, spec->mask, operation);
  HEADWISE_TRY(shards);
  auto heads = heads_of(call.heads, ranks, spec->shape, operation);
  HEADWISE_TRY(heads);
  return CheckedHeads{*std::move(spec), *std::move(shards), *std::move(heads)};
}

Status check_same_heads(Communicator& group, DType type,
                        const CheckedHeads& all) {
  Digest digest;
  for (const PartRange& heads : all.heads.key) {
    digest.add(heads.count);
  }
  return group.check_same(
      "the call", describe_call(name_of(type), all.spec, all.shards, digest));
}

}  // namespace headwise::inline HEADWISE_ABI
